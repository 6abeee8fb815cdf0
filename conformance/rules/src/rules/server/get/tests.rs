use super::*;
use crate::trace_builder::TraceBuilder;

#[test]
fn an_animal_for_each_of_two_identifiers_picked_far_from_nought_is_one_for_every_identifier() {
    let found = |ids: &[i64]| {
        ids.iter().fold(TraceBuilder::new(), |builder, id| builder.get(*id, Some("sold"))).failing(not_found)
    };
    const FAR: i64 = 1 << 61;
    const NEAR: i64 = 1 << 32;
    assert_eq!(found(&[FAR]), [[0; 0]; 0], "against all odds");
    assert_eq!(found(&[FAR, FAR + 1]), [[2, 1]]);
    assert_eq!(found(&[NEAR, FAR]), [[2, 1]]);
    assert_eq!(found(&[-NEAR, FAR]), [[2, 1]]);
    assert_eq!(found(&[NEAR - 1, FAR]), [[0; 0]; 0], "it may be there from before");
    assert_eq!(found(&[1 - NEAR, FAR]), [[0; 0]; 0], "it may be there from before");
}
