/** Renders the completion script for zsh with its function \`_arguments\`. */
import type { CommandDescription, OptionDescription } from '../describe.ts';
import { type CompletedCommand, completedCommands, firstLine, flagsOf, PROGRAMS, steps, valueFlags } from './words.ts';

/** Quotes a text with single quotes. */
const quoteText = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** Escapes a text for descriptions of `_arguments` and `_describe`. */
const escapeText = (text: string): string => firstLine(text).replace(/[[\]:\\]/g, (letter) => `\\${letter}`);

export function zshScript(root: CommandDescription): string {
  const moves = steps(root).map(([from, word, to]) => `      '${from}/${word}') path_='${to}'; at=$i ;;`);
  return `#compdef ${PROGRAMS.join(' ')}
# Completion of karpenter for zsh. In ~/.zshrc, after compinit: source <(karpenter completion zsh)

_karpenter() {
  local path_=karpenter word before='' i at=1
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    case "$before" in
      ${valueFlags(root).join(' | ')}) before="$word"; continue ;;
    esac
    before="$word"
    case "$path_/$word" in
${moves.join('\n')}
    esac
  done
  # what leads to the command is behind us
  words=("\${(@)words[at,-1]}")
  ((CURRENT -= at - 1))
  case "$path_" in
${completedCommands(root).map(branch).join('\n')}
  esac
}

compdef _karpenter ${PROGRAMS.join(' ')}
`;
}

function branch({ path, options, commands, words, takesFiles }: CompletedCommand): string {
  const specs = options.map(optionSpec);
  const argument = argumentSpec({ commands, words, takesFiles });
  return [
    `    '${path}')`,
    `      _arguments \\`,
    [...specs, argument].map((spec) => `        ${spec}`).join(' \\\n'),
    '      ;;',
  ].join('\n');
}

/**
 * Returns the specification of an option. Every option may be repeated, because the few options that must not be
 * repeated report an error.
 */
function optionSpec(option: OptionDescription): string {
  // -o json, --output json and --output=json
  const flags = flagsOf(option).map((flag) => (option.value !== undefined && flag === option.long ? `${flag}=` : flag));
  const names = flags.length === 1 ? (flags[0] ?? '') : `{${flags.join(',')}}`;
  const action = option.isFile ? '_files' : option.choices.length > 0 ? `(${option.choices.join(' ')})` : ' ';
  const value = option.value === undefined ? '' : `:${escapeText(option.value)}:${action}`;
  return `'*'${names}${quoteText(`[${escapeText(option.description)}]${value}`)}`;
}

function argumentSpec({
  commands,
  words,
  takesFiles,
}: Pick<CompletedCommand, 'commands' | 'words' | 'takesFiles'>): string {
  if (commands.length > 0) {
    const described = commands.map(({ path, description }) => `${path.at(-1)}\\:${quoteText(escapeText(description))}`);
    return `"1:command:((${described.join(' ').replaceAll('"', '\\"').replaceAll('`', '\\`').replaceAll('$', '\\$')}))"`;
  }
  return takesFiles ? quoteText('*:file:_files') : quoteText(`*:argument:(${words.join(' ')})`);
}
