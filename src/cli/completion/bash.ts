/** Renders the completion script for bash 3.2 and later. The script does not need the package bash-completion. */
import type { CommandDescription } from '../describe.ts';
import { type CompletedCommand, completedCommands, flagsOf, PROGRAMS, steps, valueFlags } from './words.ts';

/** Quotes words with single quotes, which the words themselves do not contain. */
const words = (list: readonly string[]): string => `'${list.join(' ').replaceAll("'", '')}'`;

export function bashScript(root: CommandDescription): string {
  const moves = steps(root).map(([from, word, to]) => `      '${from}/${word}') path='${to}' ;;`);
  return `# Completion of karpenter for bash. In ~/.bashrc: source <(karpenter completion bash)

_karpenter_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }

_karpenter_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$cur"))
}

_karpenter() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}" path=karpenter word before='' i
  COMPREPLY=()
  # --output=js are three words: an equals sign ends one
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $prev == '=' ]]; then
    prev="\${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$before" in
      ${valueFlags(root).join(' | ')}) before="$word"; [[ $word == '=' ]] && before="\${COMP_WORDS[i - 1]}"; continue ;;
    esac
    before="$word"
    case "$path/$word" in
${moves.join('\n')}
    esac
  done
  case "$path" in
${completedCommands(root).map(branch).join('\n')}
  esac
}

complete -F _karpenter ${PROGRAMS.join(' ')}
`;
}

function branch({ path, options, commands, words: choices, takesFiles }: CompletedCommand): string {
  const flags = options.flatMap((option) => flagsOf(option));
  const values = options.flatMap((option) => {
    if (option.value === undefined) return [];
    const action = option.isFile ? '_karpenter_files' : `_karpenter_words ${words(option.choices)}`;
    return [`        ${flagsOf(option).join(' | ')}) ${action}; return ;;`];
  });
  const names = [...commands.map((nested) => nested.path.at(-1) ?? ''), ...choices];
  const argument = takesFiles && names.length === 0 ? '_karpenter_files' : `_karpenter_words ${words(names)}`;
  return [
    `    '${path}')`,
    ...(values.length === 0 ? [] : ['      case "$prev" in', ...values, '      esac']),
    `      if [[ $cur == -* ]]; then _karpenter_words ${words(flags)}; else ${argument}; fi ;;`,
  ].join('\n');
}
