//! Manual pages, and completions that shells load.

use super::machine::Machine;

/// Every page is well-formed and found; bash, zsh and fish load the completions, and complete with
/// them: zsh from this folder.
pub(crate) fn serve(machine: &Machine, zsh: &str) {
    let pages = machine.run(
        "set -e; cd /usr/share/man; for page in man1/fairways*.1.gz man5/fairways.toml.5.gz; do \
         zcat $page | mandoc -Tlint -Wwarning; done; ls man1/fairways*.1.gz | wc -l",
    );
    assert!(pages.trim().parse::<u32>().unwrap() > 40, "{pages}");
    let shown =
        machine.run("zcat /usr/share/man/man5/fairways.toml.5.gz | mandoc -Tascii | col -b");
    assert!(shown.contains("resctrl.confine_others"), "{shown}");
    complete(machine, zsh, "fairways", ("st", "status"));
    complete(machine, zsh, "fairways-lab", ("sim", "simulate"));
}

/// Each shell completes these first letters of a program's command.
fn complete(machine: &Machine, zsh: &str, program: &str, (typed, command): (&str, &str)) {
    let bash = format!("/usr/share/bash-completion/completions/{program}");
    let fish = "/usr/share/fish/vendor_completions.d";
    machine.run(&format!(
        "bash -n {bash} && zsh -n {zsh}/_{program} && fish -n {fish}/{program}.fish"
    ));
    // As bash does at `fairways st<TAB>`: the loader of bash-completion finds the file, and its
    // function fills COMPREPLY.
    let by_bash = machine.run(&format!(
        "source /usr/share/bash-completion/bash_completion; _completion_loader {program}; \
         COMP_WORDS=({program} {typed}); COMP_CWORD=1; COMP_LINE='{program} {typed}'; \
         COMP_POINT=${{#COMP_LINE}}; of=$(complete -p {program} | sed 's/.* -F \\([^ ]*\\) .*/\\1/'); \
         $of {program} {typed} {program}; echo \"${{COMPREPLY[@]}}\"",
    ));
    assert_eq!(by_bash.trim(), command);
    let by_fish = machine.run(&format!(
        "fish --no-config --command 'set fish_complete_path {fish}; \
         complete --do-complete \"{program} {typed}\"'"
    ));
    assert!(by_fish.starts_with(&format!("{command}\t")), "{by_fish}");
    let by_zsh = machine.run(&format!(
        "zsh -f -c 'fpath=({zsh} $fpath); autoload -U compinit; compinit -u -D; \
         echo $_comps[{program}]; autoload +X _{program} && whence -w _{program}'"
    ));
    assert_eq!(by_zsh, format!("_{program}\n_{program}: function\n"));
}
