/**
 * Reads AWS's public price list of EC2 from the bulk files of the Pricing API. The result is the on-demand price of
 * Linux in USD per hour for each instance type. `index.json` is read as a whole. `index.csv` is read line by line,
 * because one region has hundreds of megabytes.
 */

/** Filters that the operator also uses for the Pricing API, see src/aws/pricing/pricing.ts. */
const WANTED: Readonly<Record<string, readonly string[]>> = {
  instanceType: [],
  operatingSystem: ['Linux'],
  preInstalledSw: ['NA'],
  capacitystatus: ['Used'],
  marketoption: ['OnDemand'],
};

/** Tenancy by product family. Bare metal is listed as dedicated. */
const TENANCY: Readonly<Record<string, string>> = {
  'Compute Instance': 'Shared',
  'Compute Instance (bare metal)': 'Dedicated',
};

/** Columns of the CSV form, by the attributes of the JSON form. */
const COLUMNS: Readonly<Record<string, string>> = {
  instanceType: 'Instance Type',
  operatingSystem: 'Operating System',
  preInstalledSw: 'Pre Installed S/W',
  capacitystatus: 'CapacityStatus',
  marketoption: 'MarketOption',
  tenancy: 'Tenancy',
};

type Attributes = Readonly<Record<string, string | undefined>>;

const isWanted = (family: string | undefined, attributes: Attributes): boolean =>
  family !== undefined &&
  TENANCY[family] !== undefined &&
  attributes.tenancy === TENANCY[family] &&
  Object.entries(WANTED).every(([name, allowed]) => {
    const value = attributes[name];
    // Older files have no market option.
    if (value === undefined) return name === 'marketoption';
    return allowed.length === 0 || allowed.includes(value);
  });

interface PriceList {
  readonly products?: Readonly<
    Record<string, { readonly productFamily?: string; readonly attributes?: Attributes } | undefined>
  >;
  readonly terms?: {
    readonly OnDemand?: Readonly<Record<string, Readonly<Record<string, Term>> | undefined>>;
  };
}

interface Term {
  readonly priceDimensions?: Readonly<Record<string, { readonly pricePerUnit?: { readonly USD?: string } }>>;
}

export function pricesInJson(text: string): ReadonlyMap<string, number> {
  const { products, terms } = JSON.parse(text) as PriceList;
  const prices = new Map<string, number>();
  for (const [sku, product] of Object.entries(products ?? {})) {
    const { productFamily, attributes = {} } = product ?? {};
    if (!isWanted(productFamily, attributes)) continue;
    for (const term of Object.values(terms?.OnDemand?.[sku] ?? {}))
      for (const { pricePerUnit } of Object.values(term.priceDimensions ?? {}))
        add(prices, attributes.instanceType, pricePerUnit?.USD);
  }
  return prices;
}

/** Adds a price. Ignores items with a price of zero, because they are not offers of an instance. */
function add(prices: Map<string, number>, instanceType: string | undefined, price: string | undefined): void {
  const usd = Number(price);
  if (instanceType !== undefined && Number.isFinite(usd) && usd > 0) prices.set(instanceType, usd);
}

/** @throws Error if the file has no row of column names */
export async function pricesInCsv(lines: AsyncIterable<string>): Promise<ReadonlyMap<string, number>> {
  const prices = new Map<string, number>();
  let at: ReadonlyMap<string, number> | undefined;
  for await (const line of lines) {
    // Lines before the column names describe the file.
    if (at === undefined && !line.startsWith('"SKU"')) continue;
    const cells = cellsOf(line);
    if (at === undefined) {
      at = new Map(cells.map((name, index) => [name, index]));
      continue;
    }
    const columns = at;
    const cell = (name: string): string | undefined => cells[columns.get(name) ?? -1];
    if (cell('TermType') !== 'OnDemand' || cell('Currency') !== 'USD') continue;
    const attributes = Object.fromEntries(Object.entries(COLUMNS).map(([name, column]) => [name, cell(column)]));
    if (isWanted(cell('Product Family'), attributes)) add(prices, attributes.instanceType, cell('PricePerUnit'));
  }
  if (at === undefined) throw new Error('Cannot read the price list: no line begins with "SKU"');
  return prices;
}

/** Returns the cells of a line. Every cell is quoted, and a quote within a cell is doubled. */
const cellsOf = (line: string): readonly string[] =>
  [...line.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map(([, cell = '']) => cell.replaceAll('""', '"'));
