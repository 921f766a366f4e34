/**
 * Renders the program from which kubectl gets the completions of `kubectl karpenter`. kubectl runs it for each TAB with the words
 * after the plugin's name, the last of which is incomplete, and reads one completion per line. The last line is a directive.
 */
import type { CommandDescription } from '../describe.ts';
import { type CompletedCommand, completedCommands, firstLine, flagsOf, steps, valueFlags } from './words.ts';

/** Name by which kubectl finds the program in `PATH`. */
export const KUBECTL_COMPLETION = 'kubectl_complete-karpenter';

/** Directives of kubectl: complete files, or only the given words. */
const FILES = ':0';
const NO_FILES = ':4';

const quoteText = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Returns a word with its description, as kubectl reads it. */
const offer = (word: string, description: string): string => quoteText(`${word}\t${firstLine(description)}`);

export function kubectlScript(root: CommandDescription): string {
  const moves = steps(root).map(([from, word, to]) => `    '${from}/${word}') path='${to}' ;;`);
  return `#!/bin/sh
# Completion of kubectl karpenter. Save it in PATH as an executable with the name ${KUBECTL_COMPLETION}.

path=karpenter before=''
while [ $# -gt 1 ]; do
  word=$1
  shift
  case "$before" in
    ${valueFlags(root).join(' | ')}) before=$word; continue ;;
  esac
  before=$word
  case "$path/$word" in
${moves.join('\n')}
  esac
done
cur=\${1-}
# --output=js
case "$cur" in
  -*=*) before=\${cur%%=*} cur=\${cur#*=} ;;
esac

offer() {
  for word in "$@"; do
    case "$word" in
      "$cur"*) printf '%s\\n' "$word" ;;
    esac
  done
  echo '${NO_FILES}'
  exit
}

files() {
  echo '${FILES}'
  exit
}

case "$path" in
${completedCommands(root).map(branch).join('\n')}
esac
`;
}

function branch({ path, options, commands, words, takesFiles }: CompletedCommand): string {
  const values = options.flatMap((option) => {
    if (option.value === undefined) return [];
    const action = option.isFile ? 'files' : ['offer', ...option.choices.map(quoteText)].join(' ');
    return [`      ${flagsOf(option).join(' | ')}) ${action} ;;`];
  });
  const flags = options.flatMap((option) => flagsOf(option).map((flag) => offer(flag, option.description)));
  const names = [
    ...commands.map((nested) => offer(nested.path.at(-1) ?? '', nested.description)),
    ...words.map(quoteText),
  ];
  return [
    `  '${path}')`,
    ...(values.length === 0 ? [] : ['    case "$before" in', ...values, '    esac']),
    `    case "$cur" in -*) offer ${flags.join(' ')} ;; esac`,
    `    ${takesFiles && names.length === 0 ? 'files' : ['offer', ...names].join(' ')} ;;`,
  ].join('\n');
}
