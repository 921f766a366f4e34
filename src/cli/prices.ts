/** Command `karpenter prices import`. Creates a price book from the output of AWS's own commands. */
import { existsSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { Document, isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import { PRICE_BOOK_KIND, readPriceBook, type SavingsPlanRate } from '#api/price-book';
import { type Example, withExamples } from './describe.ts';
import { readStandardInput, readText } from './objects/text.ts';
import { type Imported, importEntries } from './prices/aws-answers.ts';
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

/** Merges imported entries into a price book. Keeps its comments and its other entries. */
interface Merged {
  /** Price book as YAML. */
  readonly text: string;
  readonly notes: readonly string[];
}

/**
 * @param existing content of the price book to merge into; undefined for a new one
 * @param file name of the file in messages
 * @throws InputError if the content is not a valid price book
 */
export function mergeImported(imported: Imported, existing: string | undefined, file: string): Merged {
  const document = existing === undefined ? new Document({ ...PRICE_BOOK_KIND }) : documentOf(existing, file);
  const notes = [...imported.notes];
  for (const plan of imported.plans) {
    const rates = imported.rates.get(plan.id) ?? [];
    const known = entryOf(document, 'savingsPlans', plan.id);
    if (rates.length === 0 && known?.get('rates') === undefined) notes.push(withoutRates(plan.id));
    else put(document, 'savingsPlans', { ...plan, ...(rates.length > 0 && { rates }) });
  }
  for (const [id, rates] of imported.rates) notes.push(...addRates(document, id, rates, imported));
  for (const entry of imported.reserved) put(document, 'reservedInstances', entry);
  const text = document.toString({ lineWidth: 0 });
  // the result is validated, because the responses of AWS may contain invalid values
  return { text, notes: [...notes, ...readPriceBook(text, file).problems] };
}

const withoutRates = (id: string): string =>
  `Savings Plan ${id} is skipped because its rates are unknown; also import the output of ` +
  `aws savingsplans describe-savings-plan-rates --savings-plan-id ${id}`;

function documentOf(content: string, file: string): Document {
  readPriceBook(content, file);
  return parseDocument(content);
}

/** Adds rates of a plan that was imported without the plan itself. */
function addRates(
  document: Document,
  id: string,
  rates: readonly SavingsPlanRate[],
  { plans }: Imported,
): readonly string[] {
  if (rates.length === 0)
    return [`Savings Plan ${id} has no rate for Linux on shared hardware in the region; omit or correct --region`];
  if (plans.some((plan) => plan.id === id)) return [];
  const known = entryOf(document, 'savingsPlans', id);
  if (known === undefined)
    return [
      `Savings Plan ${id} has rates but is not listed; also import the output of aws savingsplans describe-savings-plans`,
    ];
  known.set('rates', document.createNode(rates));
  return [];
}

type ListName = 'savingsPlans' | 'reservedInstances';

function entryOf(document: Document, list: ListName, id: string): YAMLMap | undefined {
  const entries = document.get(list);
  const found = isSeq(entries) ? entries.items.find((item) => isMap(item) && item.get('id') === id) : undefined;
  return isMap(found) ? found : undefined;
}

/** Updates the entry with the ID, or adds it. Keeps fields that the import does not contain. */
function put(document: Document, list: ListName, entry: { readonly id: string }): void {
  const known = entryOf(document, list, entry.id);
  if (known !== undefined) {
    for (const [field, value] of Object.entries(entry)) known.set(field, document.createNode(value));
    return;
  }
  if (!isSeq(document.get(list))) document.set(list, document.createNode([]));
  document.addIn([list], document.createNode(entry));
}
