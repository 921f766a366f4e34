/** Command `karpenter prices import`. Creates a price book from the output of AWS's own commands. */
import { existsSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { type Example, withExamples } from './describe.ts';
import { readStandardInput, readText } from './objects/text.ts';
import { importEntries } from './prices/aws-answers.ts';
import { type Merged, mergeImported } from './prices/merge.ts';
import { writeNotes } from './scenario.ts';

interface Flags {
  readonly into?: string;
  readonly region?: string;
}

const EXAMPLES: readonly Example[] = [
  {
    what: 'the Savings Plans of the account',
    command:
      'aws savingsplans describe-savings-plans --output json > plans.json; aws savingsplans describe-savings-plan-rates --savings-plan-id ID --output json > rates.json; karpenter prices import plans.json rates.json --region eu-central-1 --into price-book.yaml',
  },
  {
    what: 'the reserved instances of a region',
    command:
      'aws ec2 describe-reserved-instances --output json | karpenter prices import - --region eu-central-1 --into price-book.yaml',
  },
  { what: 'print the price book', command: 'karpenter prices import plans.json rates.json' },
];

/** @throws InputError if a file cannot be read or is not valid */
export function pricesFrom(files: readonly string[], { into, region }: Flags): Merged {
  const sources = files.map((file) => ({
    where: file === '-' ? 'standard input' : file,
    text: file === '-' ? readStandardInput() : readText(file),
  }));
  const existing = into !== undefined && existsSync(into) ? readText(into) : undefined;
  return mergeImported(importEntries(sources, region === undefined ? {} : { region }), existing, into ?? 'price book');
}

const importCommand = (): Command =>
  withExamples(
    new Command('import')
      .description('Create a price book from the JSON output of the AWS CLI')
      .argument('<file...>', 'output of aws savingsplans or aws ec2 describe-reserved-instances; - for stdin'),
    EXAMPLES,
  )
    .option('--into <file>', 'price book to update, created if it does not exist (default: print to standard output)')
    .option(
      '--region <region>',
      'keep only the rates of this region, and add reserved instances as instances of this region',
    )
    .action((files: readonly string[], flags: Flags) => {
      const { text, notes } = pricesFrom(files, flags);
      writeNotes(notes);
      if (flags.into === undefined) process.stdout.write(text);
      else writeFileSync(flags.into, text);
    });

export const pricesCommand = (): Command =>
  new Command('prices')
    .description('Manage the price book: discounts, Savings Plans and reserved instances')
    .addCommand(importCommand());
