//! The same seed gives the same run, to the byte.

use tidelock_tests::simulation::{Size, draw, play};

#[test]
fn the_same_seed_gives_the_same_plan_and_the_same_log_to_the_byte() {
    for seed in 0..60 {
        let (once, again) = (draw(seed, Size::any()), draw(seed, Size::any()));
        assert_eq!(once, again, "seed {seed}");
        let (first, second) = (play(&once), play(&again));
        let (text, again) = (first.text(), second.text());
        let differs = text.lines().zip(again.lines()).find(|(a, b)| a != b);
        assert_eq!(differs, None, "seed {seed}");
        assert!(text == again && first == second, "seed {seed}");
    }
}

#[test]
fn another_seed_gives_another_run() {
    let log = |seed| play(&draw(seed, Size::any())).text();
    assert!(log(1) != log(2));
}
