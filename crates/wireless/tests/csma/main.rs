mod reference;
#[test]
fn look() {
    for n in [1, 2, 3, 5, 10, 20, 40] {
        println!(
            "{n} {:?}\n   {:?}",
            reference::unslotted(n, 133, false, 100.0, 1),
            reference::unslotted(n, 133, true, 100.0, 2)
        );
        println!("   {:?}", reference::pollin(n, 13.0, 2.0));
    }
}
