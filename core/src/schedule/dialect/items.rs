//! The items of all seven fields.

use std::ops::Index;

use super::item::Item;
use crate::schedule::field::Field;

/// What stands in each field, in the order written; a field left out has what it stands for.
#[derive(Clone, Debug)]
pub(in crate::schedule) struct Items {
    all: Vec<Item>,
    /// Where each field ends in `all`.
    ends: [usize; 7],
}

const ZERO: Item = Item::Range { from: 0, to: 0, step: 1 };

impl Items {
    /// Room for the fields, which are pushed in their order.
    pub(super) fn new() -> Self {
        Self { all: Vec::with_capacity(12), ends: [0; 7] }
    }

    /// Adds to a field; an item said twice counts once.
    pub(super) fn push(&mut self, field: Field, item: Item) {
        let end = self.all.len();
        let start = if field == Field::Second { 0 } else { self.ends[field as usize - 1] };
        if !self.all[start..end].contains(&item) {
            self.all.push(item);
        }
        self.ends[field as usize..].fill(self.all.len());
    }

    /// What a field left out stands for: second 0, every year.
    pub(super) fn push_left_out(&mut self, field: Field) {
        self.push(field, if field == Field::Year { Item::All { step: 1 } } else { ZERO });
    }

    /// Whether a field is no restriction: one of its items is a bare `*`.
    pub(in crate::schedule) fn is_any(&self, field: Field) -> bool {
        self[field].contains(&Item::All { step: 1 })
    }

    /// Canonical text: six fields, or seven where the years are restricted.
    pub(super) fn canonical(&self) -> String {
        let mut text = String::with_capacity(32);
        let shown = if self.is_any(Field::Year) { 6 } else { 7 };
        for field in Field::ALL.into_iter().take(shown) {
            for item in &self[field] {
                item.write(&mut text);
                text.push(',');
            }
            text.pop();
            text.push(' ');
        }
        text.pop();
        text
    }

    /// Whether a field begins with `*`.
    pub(super) fn is_starred(&self, field: Field) -> bool {
        matches!(self[field].first(), Some(Item::All { .. }))
    }
}

impl Index<Field> for Items {
    type Output = [Item];

    fn index(&self, field: Field) -> &[Item] {
        let start = if field == Field::Second { 0 } else { self.ends[field as usize - 1] };
        &self.all[start..self.ends[field as usize]]
    }
}
