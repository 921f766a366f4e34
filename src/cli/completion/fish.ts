/** Renders the completion script for fish. */
import type { CommandDescription } from '../describe.ts';
import { type CompletedCommand, completedCommands, firstLine, PROGRAMS, steps, valueFlags } from './words.ts';

const quoteText = (text: string): string => `'${text.replace(/['\\]/g, (letter) => `\\${letter}`)}'`;

export function fishScript(root: CommandDescription): string {
  const moves = steps(root).map(
    ([from, word, to]) => `            case '${from}/${word}'\n                set path '${to}'`,
  );
  return `# Completion of karpenter for fish: karpenter completion fish > ~/.config/fish/completions/karpenter.fish

function __karpenter_at
    set -l path karpenter
    set -l before ''
    for word in (commandline -opc)[2..-1]
        if contains -- "$before" ${valueFlags(root).join(' ')}
            set before "$word"
            continue
        end
        set before "$word"
        switch "$path/$word"
${moves.join('\n')}
        end
    end
    test "$path" = "$argv[1]"
end

${PROGRAMS.flatMap((program) => [
  `complete -c ${program} -f`,
  ...completedCommands(root).flatMap((command) => lines(program, command)),
]).join('\n')}
`;
}

function lines(program: string, { path, options, commands, words, takesFiles }: CompletedCommand): readonly string[] {
  const begin = `complete -c ${program} -n ${quoteText(`__karpenter_at "${path}"`)}`;
  const ofOptions = options.map(({ short, long, value, choices, isFile, description }) => {
    const names = `${short === undefined ? '' : ` -s ${short.slice(1)}`} -l ${long.slice(2)}`;
    const values = value === undefined ? '' : isFile ? ' -r -F' : ` -x -a ${quoteText(choices.join(' '))}`;
    return `${begin}${names}${values} -d ${quoteText(firstLine(description))}`;
  });
  const nested = commands.map(
    ({ path: own, description }) =>
      `${begin} -a ${quoteText(own.at(-1) ?? '')} -d ${quoteText(firstLine(description))}`,
  );
  return [
    ...ofOptions,
    ...nested,
    ...(words.length === 0 ? [] : [`${begin} -a ${quoteText(words.join(' '))}`]),
    ...(takesFiles ? [`${begin} -F`] : []),
  ];
}
