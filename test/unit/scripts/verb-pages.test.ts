import { describe, expect, it } from '@jest/globals';
import { Command, Option } from 'commander';
import { describeCommand as described, everyCommand, showExamples, wholeProgram, withExamples } from '#cli/testing';
import { indexPage, verbPage } from '../../../scripts/reference/verbs.ts';

const verb = (): Command =>
  withExamples(
    new Command('look')
      .description('Look at things')
      .argument('[file...]', 'what to look at')
      .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json']).default('table'))
      .addOption(new Option('--kubeconfig <file>', 'where').env('KUBECONFIG'))
      .option('--quiet', 'say less', false)
      .addOption(new Option('--secret', 'not for you').hideHelp())
      .addHelpText('after', '\nEnds with 1 at times. Such as:\n\n  karpenter look twice\n'),
    [{ what: 'at a file', command: 'karpenter look now.yaml' }],
  );

describe('verbPage', () => {
  it('contains the text of --help', () => {
    const page = verbPage(described(verb(), ['karpenter']), [{ name: 'look', verb: 'look' }]);
    expect(page).toMatchInlineSnapshot(`
"# karpenter look

<!-- Written by \`npm run generate\`; change the declarations in src/cli instead. -->

Look at things

\`\`\`sh
karpenter look [options] [file...]
\`\`\`

| Argument | Meaning |
|---|---|
| \`[file...]\` | what to look at |

| Option | Default | Meaning |
|---|---|---|
| \`-o, --output <format>\` | \`table\` | how to print: \`table\`, \`json\` |
| \`--kubeconfig <file>\` |  | where; also \`KUBECONFIG\` |
| \`--quiet\` |  | say less |

Ends with 1 at times. Such as:

\`\`\`sh
karpenter look twice
\`\`\`

\`\`\`sh
# at a file
karpenter look now.yaml
\`\`\`

\`-o json\` and \`-o yaml\` have this JSON Schema: [look](../output/look.json).
"
`);
  });

  it('has a section for each command below', () => {
    const above = new Command('explain').description('Say why').addCommand(verb());
    const page = verbPage(described(above, ['karpenter']), []);
    expect(page).toMatch(/^```sh\nkarpenter explain <command>\n```$/m);
    expect(page).toMatch(/^## karpenter explain look\n\nLook at things$/m);
    expect(page).not.toContain('JSON Schema');
  });
});

describe('indexPage', () => {
  it('links the verbs', () => {
    const page = indexPage([{ question: 'Where is it?', verbs: [['look', 'look at things']] }]);
    expect(page).toMatch(/^## Where is it\?\n\n(.+\n){2}\| \[look\]\(look\.md\) \| look at things \|$/m);
  });
});

describe('an example', () => {
  it('ends the help', () => {
    let text = '';
    const command = showExamples(verb()).configureOutput({ writeOut: (part) => (text += part) });
    command.outputHelp();
    expect(text).toMatch(/\nExamples:\n {2}# at a file\n {2}karpenter look now\.yaml\n$/);
  });

  it('exists for every verb, and can be parsed', async () => {
    const commands = everyCommand(described(await wholeProgram())).filter(
      ({ commands: nested }) => nested.length === 0,
    );
    expect(commands.filter(({ examples }) => examples.length === 0).map(({ path }) => path.join(' '))).toEqual([]);
    const known = new Map(commands.map((command) => [command.path.join(' '), command]));
    for (const command of commands)
      for (const { command: line } of command.examples) {
        // quoted text is a value, such as arguments of the operator
        const flags = line.replaceAll(/'[^']*'|"[^"]*"/g, '').match(/(?<=karpenter [^|]*\s)--[a-z-]+/g) ?? [];
        expect(
          flags.filter((flag) => !known.get(command.path.join(' '))?.options.some(({ long }) => long === flag)),
        ).toEqual([]);
      }
  });
});
