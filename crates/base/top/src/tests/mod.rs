//! Tests of screens.

mod scenes;

use std::path::Path;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::{Color, Modifier};

use super::colours::Colours;
use super::source::{PlayCommand, Scene};
use super::view::View;
use super::{draw, keys, screen_lines};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (50, 15)];

/// The screen after these keys.
fn screen(scene: &Scene, pressed: &str, wanted: bool, (width, height): (u16, u16)) -> Buffer {
    let mut view = View::default();
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut drawn = |view: &mut View| {
        terminal
            .draw(|frame: &mut ratatui::Frame<'_>| {
                let area = frame.area();
                draw::screen(scene, view, Colours { wanted }, area, frame.buffer_mut());
            })
            .unwrap()
            .buffer
            .clone()
    };
    let mut last = drawn(&mut view);
    for key in pressed.chars() {
        let code = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
        let command = keys::command(KeyEvent::from(code), false).unwrap();
        assert!(view.handle(command, scene), "{key:?} leaves");
        last = drawn(&mut view);
    }
    last
}

/// Checks a screen at three sizes.
fn check(name: &str, scene: &Scene, pressed: &str) {
    for (width, height) in SIZES {
        let text = screen_lines(&screen(scene, pressed, false, (width, height))).join("\n");
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text);
    }
}

#[test]
fn several_programs() {
    check("several", &scenes::several(), "");
}

#[test]
fn an_observed_plan_is_not_in_force() {
    let mut scene = scenes::several();
    let texts = ["manage", "observe"].map(|mode| {
        mode.clone_into(&mut scene.status.mode);
        screen_lines(&screen(&scene, "", false, (120, 40))).join("\n")
    });
    assert_eq!(texts.map(|text| text.contains(", not in force")), [false, true]);
}

/// The column is there only where something is limited.
#[test]
fn limits_of_memory_bandwidth() {
    check("limited", &scenes::limited(), "");
}

#[test]
fn a_program_is_selected_and_sorted_by_what_it_does() {
    check("selected", &scenes::several(), "jjcss");
}

/// The column is there only where somebody is blamed.
#[test]
fn who_slows_whom() {
    check("culprits", &scenes::blamed(), "");
    check("blame", &scenes::blamed(), "b");
    let nothing = screen_lines(&screen(&scenes::several(), "b", false, (80, 24))).join("\n");
    assert!(nothing.contains("nothing is known: losses are estimated"), "{nothing}");
}

#[test]
fn many_programs_scroll() {
    check("many", &scenes::many(), &"j".repeat(31));
}

#[test]
fn the_second_of_two_domains() {
    check("two-domains", &scenes::two_domains(), "d");
}

#[test]
fn threads_take_turns() {
    check("threads", &scenes::threads(), "");
}

#[test]
fn a_policy_that_failed() {
    check("failed", &scenes::failed(), "");
}

#[test]
fn no_program() {
    check("no-program", &scenes::no_program(), "");
}

#[test]
fn more_ways_than_columns() {
    check("wide", &scenes::wide(), "");
}

#[test]
fn the_keys() {
    check("help", &scenes::several(), "?");
}

#[test]
fn the_decisions_about_a_program() {
    check("why", &scenes::several(), "G\n");
    check("why-web", &scenes::several(), "jjj\n");
    check("why-thread", &scenes::threads(), "\n");
}

#[test]
fn values_without_a_column_are_shown_for_the_selected_program() {
    let mut scene = scenes::several();
    let web = &mut scene.status.programs[0];
    (web.memory_bytes, web.baseline_ways) = (Some(1_234_567_890), Some(3));
    web.class_reason = Some("few ways slow it down".to_owned());
    web.estimates.insert("critical size, ways".to_owned(), 5.0);
    fn lines(pressed: &str, scene: &Scene) -> Vec<String> {
        screen_lines(&screen(scene, pressed, false, (80, 24)))
    }
    let table = lines("", &scene).join("\n");
    let values = ["occupancy 0.75 ways", "GB/s 2.47", "1.83ms of 2ms", "LLCMPKC 4.00", "5 ways"];
    assert!(values.iter().all(|value| !table.contains(value)) && !table.contains("occupancy"));
    let page = lines("jjj\n", &scene).join("\n");
    assert!(values.iter().all(|value| page.contains(value)), "{page}");
    assert!(page.contains("6 ways 0x1f8, cluster B, baseline 3"), "{page}");
    insta::assert_snapshot!("numbers-80x24", page);
    scene.status.programs[0].importance = Some(2);
    let page = lines("jjj\n", &scene).join("\n");
    assert!(page.contains("cluster B, baseline 3, importance 2"), "{page}");
    scene.status.programs[0].importance = None;
    // Where not both fit, the numbers scroll with the decisions.
    fn small(pressed: &str, scene: &Scene) -> String {
        screen_lines(&screen(scene, pressed, false, (50, 15))).join("\n")
    }
    let [first, last] = ["jjj\ng", "jjj\n"].map(|pressed| small(pressed, &scene));
    // The line is broken there.
    let last: Vec<&str> = last.split_whitespace().collect();
    assert!(first.contains("6 ways 0x1f8") && last.join(" ").contains("5 before"), "{last:?}");
}

#[test]
fn a_journal_at_its_end() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/data/run.journal");
    let mut scene = super::source::journal_at_end(&path).unwrap();
    scene.source = "run.journal".to_owned();
    check("journal", &scene, "");
}

#[test]
fn any_size_will_do_after_any_keys() {
    let scenes = [
        scenes::several(),
        scenes::blamed(),
        scenes::many(),
        scenes::two_domains(),
        scenes::threads(),
        scenes::failed(),
        scenes::no_program(),
        scenes::nothing(),
        scenes::wide(),
    ];
    for scene in &scenes {
        for pressed in ["", "Gjkd", "?G", "b", "jj\nG", "sssc"] {
            for size in [(1, 1), (39, 10), (40, 9), (40, 10), (41, 13), (65, 20), (300, 90)] {
                screen(scene, pressed, true, size);
            }
        }
    }
    let small = screen_lines(&screen(&scenes[0], "", false, (39, 10)));
    assert_eq!(small[0], "39x10: at least 40x10; q quits");
    assert!(small[1..].iter().all(String::is_empty), "{small:?}");
}

#[test]
fn colours_are_there_where_they_are_wanted_only() {
    fn is_coloured(screen: &Buffer) -> bool {
        screen.content.iter().any(|cell| (cell.fg, cell.bg) != (Color::Reset, Color::Reset))
    }
    for scene in [scenes::several(), scenes::failed(), scenes::threads()] {
        for pressed in ["", "j", "?", "j\n"] {
            let [with, without] =
                [true, false].map(|wanted| screen(&scene, pressed, wanted, (80, 24)));
            assert!(is_coloured(&with) && !is_coloured(&without));
            // Colours show nothing that letters do not.
            assert_eq!(screen_lines(&with), screen_lines(&without));
        }
    }
    // The selection is visible without colours.
    let selected = screen(&scenes::several(), "j", false, (80, 24));
    fn reversed(y: u16, selected: &Buffer) -> bool {
        selected[(0, y)].modifier.contains(Modifier::REVERSED)
    }
    let rows: Vec<u16> = (0..24).filter(|y| reversed(*y, &selected)).collect();
    let [row] = rows[..] else { panic!("{rows:?}") };
    assert!(screen_lines(&selected)[usize::from(row)].starts_with("> A nightly-bac"));
}

#[test]
fn a_program_that_ends_is_selected_no_longer_and_keys_are_handled_in_turn() {
    let mut scene = scenes::several();
    let mut view = View::default();
    fn press(view: &mut View, code: KeyCode, scene: &Scene) -> bool {
        view.handle(keys::command(KeyEvent::from(code), false).unwrap(), scene)
    }
    assert!(press(&mut view, KeyCode::Down, &scene));
    assert_eq!(view.selected, Some(1));
    scene.status.programs.retain(|program| program.app != 1);
    view.follow_selection(&scene);
    assert_eq!(view.selected, Some(3), "the one that took its place");
    scene.status.programs.clear();
    view.follow_selection(&scene);
    assert_eq!(view.selected, None);
    assert!(press(&mut view, KeyCode::Char('?'), &scene));
    assert!(press(&mut view, KeyCode::Esc, &scene), "it leaves the page");
    assert!(!press(&mut view, KeyCode::Esc, &scene), "it leaves");
    fn right(journal: bool) -> Option<keys::Command> {
        keys::command(KeyEvent::from(KeyCode::Right), journal)
    }
    assert_eq!(
        (right(true), right(false)),
        (Some(keys::Command::Play(PlayCommand::Forward)), None)
    );
}
