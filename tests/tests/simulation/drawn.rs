//! What can be drawn is drawn.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tidelock::Misfire;
use tidelock_tests::simulation::{Disturbance, Plan, Size, When, Work, draw};

/// Whether the clocks of the zone change while the plan is played.
fn has_change(plan: &Plan, zone: &str) -> bool {
    let Ok(zone) = TimeZone::get(zone) else { return false };
    let end = plan.start + SignedDuration::from_millis(i64::try_from(plan.end_at).unwrap());
    let offset = |at: Timestamp| zone.to_offset(at);
    offset(plan.start) != offset(end)
}

fn kind_of(when: &When, plan: &Plan) -> &'static str {
    match when {
        When::Every(_) => "every",
        When::EveryFrom(..) => "every, from an anchor",
        When::Once(_) => "once",
        When::Uneven(_) => "a schedule of one's own",
        When::Cron { zone: Some(zone), .. } if has_change(plan, zone) => {
            let steps = |it: &Disturbance| matches!(it, Disturbance::Step { .. });
            let stepped = plan.disturbances.iter().any(|planned| steps(&planned.what));
            if stepped { "clocks set about a change of the clocks" } else { "clocks change" }
        }
        When::Cron { zone: Some(_), .. } => "cron in a zone",
        _ => "cron",
    }
}

fn kinds(plan: &Plan) -> Vec<String> {
    let mut kinds = Vec::new();
    for job in &plan.jobs {
        kinds.push(kind_of(&job.when, plan).to_owned());
        kinds.extend(job.edited.iter().map(|_| "another schedule".to_owned()));
        kinds.extend(job.fixed_lease.then(|| "a fixed lease".to_owned()));
        kinds.extend(job.blocking.then(|| "blocking".to_owned()));
        let misfire = match job.misfire {
            Misfire::All { max: 0 } => "all of none",
            Misfire::All { .. } => "all",
            Misfire::Skip => "skip",
            _ => "once only",
        };
        kinds.push(misfire.to_owned());
        for work in &job.work {
            let name = format!("{work:?}");
            kinds.push(name.split('(').next().unwrap_or_default().to_owned());
            let long = matches!(work, Work::Steps(ms) if *ms > job.ttl_ms.unwrap_or(30_000));
            kinds.extend(long.then(|| "longer than its TTL".to_owned()));
        }
    }
    for planned in &plan.disturbances {
        let name = format!("{:?}", planned.what);
        let mark = matches!(planned.what, Disturbance::Force { mark: true, .. });
        kinds.push(name.split(' ').next().unwrap_or_default().to_owned());
        kinds.extend(mark.then(|| "a mark is taken away".to_owned()));
    }
    for (seat, node) in plan.nodes.iter().enumerate() {
        let namesake = node.namesake.is_some_and(|other| other != seat);
        kinds.extend(namesake.then(|| "two of one name".to_owned()));
        kinds.extend(node.keeps_name.then(|| "a name that stays".to_owned()));
        kinds.extend(node.corrects.then(|| "corrects".to_owned()));
        kinds.extend(node.max_running.map(|_| "full".to_owned()));
        kinds.extend(node.steady.then(|| "steady".to_owned()));
    }
    kinds.extend((!plan.store.clock).then(|| "no clock at the backend".to_owned()));
    kinds.extend(plan.store.apart.then(|| "records kept apart".to_owned()));
    let deaths = |at: u64| {
        let dies = |it: &Disturbance| matches!(it, Disturbance::Kill { .. });
        let at_once = plan.disturbances.iter().filter(|it| it.at == at && dies(&it.what));
        at_once.count()
    };
    let dark = plan.disturbances.iter().any(|it| deaths(it.at) >= plan.nodes.len());
    kinds.extend(dark.then(|| "no node is up".to_owned()));
    kinds
}

#[test]
fn every_kind_of_thing_is_drawn_often_enough_to_matter() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..1_000 {
        let plan = draw(seed, Size::any());
        let mut kinds = kinds(&plan);
        kinds.sort();
        kinds.dedup();
        kinds.into_iter().for_each(|kind| *seen.entry(kind).or_default() += 1);
    }
    let expected = [
        "every",
        "every, from an anchor",
        "once",
        "a schedule of one's own",
        "cron",
        "cron in a zone",
        "clocks change",
        "clocks set about a change of the clocks",
        "another schedule",
        "a fixed lease",
        "blocking",
        "all",
        "all of none",
        "skip",
        "once only",
        "Quick",
        "Steps",
        "Heeds",
        "Fails",
        "Panics",
        "PanicsAtOnce",
        "longer than its TTL",
        "Cut",
        "Outage",
        "Slow",
        "RecordsAway",
        "Freeze",
        "Kill",
        "Stop",
        "Drop",
        "Step",
        "RunNow",
        "Remove",
        "Force",
        "a mark is taken away",
        "Edit",
        "Replace",
        "two of one name",
        "a name that stays",
        "corrects",
        "full",
        "steady",
        "no clock at the backend",
        "records kept apart",
        "no node is up",
    ];
    for kind in expected {
        let times = seen.get(kind).copied().unwrap_or_default();
        assert!(times >= 40, "{kind}: in {times} of 1000 plans; {seen:#?}");
    }
}
