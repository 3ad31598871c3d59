//! Manual pages, and completions that shells load.

use super::machine::Machine;

/// Every page is well-formed and found; bash, zsh and fish load the completions, and complete with
/// them.
pub(crate) fn serve(machine: &Machine, zsh: &str) {
    let pages = machine.run(
        "set -e; cd /usr/share/man; for page in man1/fairways*.1.gz man5/fairways.toml.5.gz; do \
         zcat $page | mandoc -Tlint -Wwarning; done; ls man1/fairways*.1.gz | wc -l",
    );
    assert!(pages.trim().parse::<u32>().unwrap() > 20, "{pages}");
    let shown =
        machine.run("zcat /usr/share/man/man5/fairways.toml.5.gz | mandoc -Tascii | col -b");
    assert!(shown.contains("resctrl.confine_others"), "{shown}");
    let bash = "/usr/share/bash-completion/completions/fairways";
    machine.run(&format!("bash -n {bash} && zsh -n {zsh} && fish -n /usr/share/fish/vendor_completions.d/fairways.fish"));
    // As bash does at `fairways st<TAB>`: the loader of bash-completion finds the file, and its
    // function fills COMPREPLY.
    let by_bash = machine.run(
        "source /usr/share/bash-completion/bash_completion; _completion_loader fairways; \
         COMP_WORDS=(fairways st); COMP_CWORD=1; COMP_LINE='fairways st'; COMP_POINT=${#COMP_LINE}; \
         of=$(complete -p fairways | sed 's/.* -F \\([^ ]*\\) .*/\\1/'); $of fairways st fairways; echo \"${COMPREPLY[@]}\"",
    );
    assert_eq!(by_bash.trim(), "status");
    let by_fish = machine.run("fish --no-config --command 'set fish_complete_path /usr/share/fish/vendor_completions.d; complete --do-complete \"fairways st\"'");
    assert!(by_fish.starts_with("status\t"), "{by_fish}");
    let folder = zsh.rsplit_once('/').unwrap().0;
    let by_zsh = machine.run(&format!(
        "zsh -f -c 'fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; echo $_comps[fairways]; autoload +X _fairways && whence -w _fairways'"
    ));
    assert_eq!(by_zsh, "_fairways\n_fairways: function\n");
}
