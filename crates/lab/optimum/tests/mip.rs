//! Compares with an integer program, without dynamic programming: a variable for every cluster and
//! number of ways; the chosen clusters have each program once and use every way.

#![allow(clippy::unwrap_used)]

use fairways_core::{Llc, WayMask, Ways};
use fairways_optimum::{Goal, Problem, SharingKind, solve};
use fairways_profiles::{Scorer, embedded};
use good_lp::{
    Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, microlp, variable,
};

/// A cluster with some ways: its programs (bits), its ways, and the slowdowns of its programs.
struct Column {
    set: u32,
    ways: u32,
    slowdowns: Vec<f64>,
}

impl Column {
    fn least(&self) -> f64 {
        self.slowdowns.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn most(&self) -> f64 {
        self.slowdowns.iter().copied().fold(0.0, f64::max)
    }

    fn progress(&self) -> f64 {
        self.slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum()
    }
}

fn columns(mix: &[usize], ways: Ways) -> Vec<Column> {
    let mut columns = Vec::new();
    for set in 1u32..1 << mix.len() {
        let members = (0..mix.len()).filter(|&i| set >> i & 1 == 1);
        let members: Vec<usize> = members.map(|i| mix[i]).collect();
        let mut scorer = Scorer::new(embedded(), &members, ways, None);
        for own in 1..=ways.get() {
            let masks = vec![WayMask::span(0, own); members.len()];
            let slowdowns = scorer.score(&masks).unwrap().to_vec();
            columns.push(Column { set, ways: own, slowdowns });
        }
    }
    columns
}

/// A binary variable for each column, and the expressions that the choice must fulfil.
fn choices(
    variables: &mut ProblemVariables,
    columns: &[&Column],
    programs: usize,
) -> (Vec<Variable>, Vec<Expression>, Expression) {
    let chosen = variables.add_vector(variable().binary(), columns.len());
    let pairs = columns.iter().zip(&chosen);
    let once = (0..programs).map(|program| {
        let with_it = pairs.clone().filter(|(c, _)| c.set >> program & 1 == 1);
        with_it.map(|(_, &x)| x).sum::<Expression>()
    });
    let once = once.collect();
    let ways = pairs.map(|(c, &x)| f64::from(c.ways) * x).sum();
    (chosen, once, ways)
}

/// The highest STP.
fn most_progress(columns: &[Column], programs: usize, ways: Ways) -> f64 {
    let columns: Vec<&Column> = columns.iter().collect();
    let mut variables = ProblemVariables::new();
    let (chosen, once, given) = choices(&mut variables, &columns, programs);
    let progress: Expression = columns.iter().zip(&chosen).map(|(c, &x)| c.progress() * x).sum();
    let mut model = variables.maximise(progress.clone()).using(microlp);
    for held in once {
        model = model.with(constraint!(held == 1));
    }
    let model = model.with(constraint!(given == ways.get()));
    model.solve().unwrap().eval(progress)
}

/// The least largest slowdown where none is below `low`; `None` if there is no such clustering.
fn least_largest(columns: &[Column], low: f64, programs: usize, ways: Ways) -> Option<f64> {
    let columns: Vec<&Column> = columns.iter().filter(|column| column.least() >= low).collect();
    let mut variables = ProblemVariables::new();
    let (chosen, once, given) = choices(&mut variables, &columns, programs);
    let largest = variables.add(variable().min(0.0));
    let mut model = variables.minimise(largest).using(microlp);
    for held in once {
        model = model.with(constraint!(held == 1));
    }
    model = model.with(constraint!(given == ways.get()));
    for (column, &x) in columns.iter().zip(&chosen) {
        model = model.with(constraint!(column.most() * x <= largest));
    }
    Some(model.solve().ok()?.value(largest))
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
}

/// The value of the exact optimum.
fn best(mix: &[usize], ways: Ways, goal: Goal) -> f64 {
    let (llc, kind) = (Llc::with_ways(ways), SharingKind::Clustering);
    let problem = Problem::new(embedded(), mix, llc, kind, goal);
    solve(&problem, None, |_, _| ()).unwrap().value
}

#[test]
fn an_integer_program_finds_no_better() {
    let mixes = [
        &["triad", "hash-join", "chess"][..],
        &["btree-lookup", "hash-join", "graph-walk"],
        &["triad", "copy-large", "sparse-solve", "chess"],
        &["xml-transform", "route-search", "lattice-flow", "lp-simplex"],
    ];
    for (mix, ways) in mixes.into_iter().zip([6, 5, 6, 5]) {
        let ways = Ways::new(ways).unwrap();
        let mix: Vec<usize> = mix.iter().map(|name| embedded().find(name).unwrap()).collect();
        let columns = columns(&mix, ways);
        close(best(&mix, ways, Goal::Stp), most_progress(&columns, mix.len(), ways));
        let largest = least_largest(&columns, 0.0, mix.len(), ways).unwrap();
        close(best(&mix, ways, Goal::MaxSlowdown), largest);
        let mut lows: Vec<f64> = columns.iter().map(Column::least).collect();
        lows.sort_unstable_by(f64::total_cmp);
        lows.dedup();
        let ratios = lows.iter().filter_map(|&low| {
            least_largest(&columns, low, mix.len(), ways).map(|high| high / low)
        });
        close(best(&mix, ways, Goal::Unfairness), ratios.fold(f64::INFINITY, f64::min));
    }
}
