/**
 * Reads AWS's public price list of EC2, as the Pricing API's bulk files have it: on-demand prices of Linux in USD per
 * hour by instance type. `index.json` is read whole; `index.csv`, of which one region has hundreds of megabytes, line by
 * line.
 */

/** What the operator asks the Pricing API for too, see src/aws/pricing/ondemand.ts. */
const WANTED: Readonly<Record<string, readonly string[]>> = {
  instanceType: [],
  operatingSystem: ['Linux'],
  preInstalledSw: ['NA'],
  capacitystatus: ['Used'],
  marketoption: ['OnDemand'],
};

/** Bare metal is listed as dedicated. */
const TENANCY: Readonly<Record<string, string>> = {
  'Compute Instance': 'Shared',
  'Compute Instance (bare metal)': 'Dedicated',
};

/** The columns of the CSV form, by the attributes of the JSON form. */
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

/** A free item is no offer of an instance. */
function add(prices: Map<string, number>, instanceType: string | undefined, price: string | undefined): void {
  const usd = Number(price);
  if (instanceType !== undefined && Number.isFinite(usd) && usd > 0) prices.set(instanceType, usd);
}

/** @throws Error when there is no row of column names */
export async function pricesInCsv(lines: AsyncIterable<string>): Promise<ReadonlyMap<string, number>> {
  const prices = new Map<string, number>();
  let at: ReadonlyMap<string, number> | undefined;
  for await (const line of lines) {
    // Lines before the column names tell of the file.
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

/** Every cell is quoted; a quote within one is doubled. */
const cellsOf = (line: string): readonly string[] =>
  [...line.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map(([, cell = '']) => cell.replaceAll('""', '"'));
