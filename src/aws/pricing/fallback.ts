/**
 * On-demand prices in USD per hour (us-east-1, Linux) for when the Pricing API cannot be reached. AWS prices a family
 * linearly by vCPU, so one price per family is enough; accelerated families are listed size by size.
 */

/** vCPUs by size name; `Nxlarge` has 4N. */
const NAMED_SIZES: Readonly<Record<string, number>> = { medium: 1, large: 2, xlarge: 4 };

/** T sizes double in price from nano on, though not in vCPU. */
const BURSTABLE_SIZES = ['nano', 'micro', 'small', 'medium', 'large', 'xlarge', '2xlarge'];
const BURSTABLE: Readonly<Record<string, number>> = { t3: 0.0052, t3a: 0.0047, t4g: 0.0042 };

/** Abbreviated sizes: md medium, lg large, xl xlarge, N Nxlarge, metal as large as the largest other. */
type Family = readonly [name: string, sizes: string, largePrice: number];

const TO_24 = 'lg xl 2 4 8 12 16 24';
const TO_32 = `${TO_24} 32 metal`;
const TO_48 = `${TO_24} 32 48 metal`;
const GRAVITON = 'md lg xl 2 4 8 12 16 metal';
const GRAVITON_48 = 'md lg xl 2 4 8 12 16 24 48 metal-24xl metal-48xl';
const AMD_7 = 'md lg xl 2 4 8 12 16 24 32 48 metal-48xl';
const AMD_8 = 'md lg xl 2 4 8 12 16 24 48 metal-24xl metal-48xl';
const INTEL_7 = `${TO_24} 48 metal-24xl metal-48xl`;
const INTEL_8 = `${TO_24} 32 48 96 metal-48xl metal-96xl`;
const FLEX = 'lg xl 2 4 8 12 16';

/** Prices are of the `large` size, or what it would cost where there is none. */
const FAMILIES: readonly Family[] = [
  ['c5', 'lg xl 2 4 9 12 18 24 metal', 0.085],
  ['c5d', 'lg xl 2 4 9 12 18 24 metal', 0.096],
  ['c5n', 'lg xl 2 4 9 18 metal', 0.108],
  ['c5a', TO_24, 0.077],
  ['c5ad', TO_24, 0.086],
  ['c6i', TO_32, 0.085],
  ['c6id', TO_32, 0.1008],
  ['c6in', TO_32, 0.1134],
  ['c6a', TO_48, 0.0765],
  ['c6g', GRAVITON, 0.068],
  ['c6gd', GRAVITON, 0.0768],
  ['c6gn', 'md lg xl 2 4 8 12 16', 0.0864],
  ['c7i', INTEL_7, 0.08925],
  ['c7i-flex', FLEX, 0.08479],
  ['c7a', AMD_7, 0.10264],
  ['c7g', GRAVITON, 0.0725],
  ['c7gd', GRAVITON, 0.0907],
  ['c7gn', GRAVITON, 0.1248],
  ['c8i', INTEL_8, 0.09371],
  ['c8id', INTEL_8, 0.11088],
  ['c8ib', INTEL_8, 0.13608],
  ['c8in', INTEL_8, 0.13608],
  ['c8i-flex', FLEX, 0.08902],
  ['c8a', AMD_8, 0.10778],
  ['c8g', GRAVITON_48, 0.07976],
  ['c8gd', GRAVITON_48, 0.09798],
  ['c8gn', GRAVITON_48, 0.1186],
  ['c8gb', GRAVITON_48, 0.1185],
  ['c9g', `md ${TO_24} 48 metal-48xl`, 0.08694],
  ['c9gd', `md ${TO_24} 48 metal-48xl`, 0.1068],
  ['m5', `${TO_24} metal`, 0.096],
  ['m5d', `${TO_24} metal`, 0.113],
  ['m5n', `${TO_24} metal`, 0.119],
  ['m5a', TO_24, 0.086],
  ['m5ad', TO_24, 0.103],
  ['m5dn', `${TO_24} metal`, 0.136],
  ['m6i', TO_32, 0.096],
  ['m6id', TO_32, 0.11865],
  ['m6in', TO_32, 0.13923],
  ['m6a', TO_48, 0.0864],
  ['m6g', GRAVITON, 0.077],
  ['m6gd', GRAVITON, 0.0904],
  ['m7i', INTEL_7, 0.1008],
  ['m7i-flex', FLEX, 0.09576],
  ['m7a', AMD_7, 0.11592],
  ['m7g', GRAVITON, 0.0816],
  ['m7gd', GRAVITON, 0.1068],
  ['m8i', INTEL_8, 0.10584],
  ['m8id', INTEL_8, 0.13052],
  ['m8i-flex', FLEX, 0.10055],
  ['m8a', AMD_8, 0.12172],
  ['m8g', GRAVITON_48, 0.08976],
  ['m8gd', GRAVITON_48, 0.11532],
  ['r5', `${TO_24} metal`, 0.126],
  ['r5d', `${TO_24} metal`, 0.144],
  ['r5a', TO_24, 0.113],
  ['r5ad', TO_24, 0.131],
  ['r5b', `${TO_24} metal`, 0.149],
  ['r5n', `${TO_24} metal`, 0.149],
  ['r6i', TO_32, 0.126],
  ['r6id', TO_32, 0.1512],
  ['r6a', TO_48, 0.1134],
  ['r6g', GRAVITON, 0.1008],
  ['r7i', INTEL_7, 0.1323],
  ['r7a', AMD_7, 0.15215],
  ['r7g', GRAVITON, 0.1071],
  ['r8i', INTEL_8, 0.13892],
  ['r8i-flex', FLEX, 0.13197],
  ['r8a', AMD_8, 0.15976],
  ['r8g', GRAVITON_48, 0.11782],
  ['x2gd', GRAVITON, 0.167],
  ['x2idn', '16 24 32 metal', 0.20840625],
  ['x2iedn', 'xl 2 4 8 16 24 32 metal', 0.416815],
  ['z1d', 'lg xl 2 3 6 12 metal', 0.186],
  ['i3', 'lg xl 2 4 8 16 metal', 0.156],
  ['i3en', 'lg xl 2 3 6 12 24 metal', 0.226],
  ['i4i', TO_32, 0.1715],
  ['im4gn', 'lg xl 2 4 8 16', 0.1819],
  ['i8g', `${TO_24} 48 metal-24xl metal-48xl`, 0.1716],
  ['d3', 'xl 2 4 8', 0.2495],
  ['p3', '2 8 16', 0.765],
];

/** `size=price` pairs. */
const ACCELERATED: Readonly<Record<string, string>> = {
  g4dn: 'xl=.526 2=.752 4=1.204 8=2.176 12=3.912 16=4.352 metal=7.824',
  g4ad: 'xl=.37853 2=.54117 4=.867 8=1.734 16=3.468',
  g5: 'xl=1.006 2=1.212 4=1.624 8=2.448 12=5.672 16=4.096 24=8.144 48=16.288',
  g5g: 'xl=.42 2=.556 4=.828 8=1.372 16=2.744 metal=2.744',
  g6: 'xl=.8048 2=.9776 4=1.3232 8=2.0144 12=4.6016 16=3.3968 24=6.6752 48=13.3504',
  g6e: 'xl=1.861 2=2.24208 4=3.00424 8=4.52856 12=10.49264 16=7.57719 24=15.06559 48=30.13118',
  inf1: 'xl=.228 2=.362 6=1.18 24=4.721',
  inf2: 'xl=.7582 8=1.96786 24=6.49063 48=12.98127',
  p4d: '24=21.957642',
  p5: '4=6.88 48=55.04',
  trn1: '2=1.34375 32=21.5',
};

const ABBREVIATIONS: Readonly<Record<string, string>> = { md: 'medium', lg: 'large', xl: 'xlarge' };
const sizeName = (short: string): string => ABBREVIATIONS[short] ?? (/^\d+$/.test(short) ? `${short}xlarge` : short);

function vcpusOf(size: string): number | undefined {
  const multiple = /^(\d+)xlarge$/.exec(size) ?? /^metal-(\d+)xl$/.exec(size);
  return multiple === null ? NAMED_SIZES[size] : Number(multiple[1]) * 4;
}

/** Prices have at most six decimals. */
const rounded = (usd: number): number => Number(usd.toFixed(6));

function* linearPrices([family, sizes, largePrice]: Family): Generator<[string, number]> {
  const names = sizes.split(' ').map(sizeName);
  const largest = Math.max(...names.map((size) => vcpusOf(size) ?? 0));
  for (const size of names) yield [`${family}.${size}`, rounded((largePrice * (vcpusOf(size) ?? largest)) / 2)];
}

/**
 * What an hour of an m5.large costs in other regions, in USD or, in China, CNY. The ratio to us-east-1 holds for other
 * types within a few percent (China: a rough figure), which is what comparing them and comparing with spot need.
 */
const M5_LARGE: Readonly<Record<string, number>> = {
  'us-west-1': 0.112,
  'ca-central-1': 0.107,
  'ca-west-1': 0.107,
  'sa-east-1': 0.153,
  'eu-west-1': 0.107,
  'eu-west-2': 0.111,
  'eu-west-3': 0.112,
  'eu-central-1': 0.115,
  'eu-central-2': 0.1265,
  'eu-north-1': 0.102,
  'eu-south-1': 0.112,
  'eu-south-2': 0.107,
  'af-south-1': 0.127,
  'me-south-1': 0.118,
  'me-central-1': 0.118,
  'il-central-1': 0.112,
  'ap-northeast-1': 0.124,
  'ap-northeast-2': 0.118,
  'ap-northeast-3': 0.124,
  'ap-southeast-1': 0.12,
  'ap-southeast-2': 0.12,
  'ap-southeast-3': 0.12,
  'ap-southeast-4': 0.12,
  'ap-south-1': 0.101,
  'ap-south-2': 0.101,
  'ap-east-1': 0.132,
  'us-gov-west-1': 0.121,
  'us-gov-east-1': 0.121,
  'cn-northwest-1': 0.67,
  'cn-north-1': 0.96,
};
const M5_LARGE_US_EAST_1 = 0.096;

/** Prices of every type that the table knows, in a region; those of us-east-1 where it does not know the region. */
export function fallbackPrices(region: string): Map<string, number> {
  const prices = new Map<string, number>();
  const factor = (M5_LARGE[region] ?? M5_LARGE_US_EAST_1) / M5_LARGE_US_EAST_1;
  for (const [family, nanoPrice] of Object.entries(BURSTABLE))
    BURSTABLE_SIZES.forEach((size, at) => {
      prices.set(`${family}.${size}`, rounded(nanoPrice * 2 ** at));
    });
  for (const family of FAMILIES) for (const [type, price] of linearPrices(family)) prices.set(type, price);
  for (const [family, list] of Object.entries(ACCELERATED))
    for (const pair of list.split(' ')) {
      const [size = '', price] = pair.split('=');
      prices.set(`${family}.${sizeName(size)}`, Number(price));
    }
  if (factor !== 1) for (const [type, price] of prices) prices.set(type, rounded(price * factor));
  return prices;
}
