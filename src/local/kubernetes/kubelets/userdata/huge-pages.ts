/** Huge pages that user data configures. */

/** Number of pages by size, as in resource names. */
export interface HugePages {
  readonly '2Mi': number;
  readonly '1Gi': number;
}

const FILES: readonly (readonly [size: keyof HugePages, pattern: RegExp])[] = [
  ['2Mi', /\bvm\.nr_hugepages"?\s*=\s*"?(\d+)/g],
  ['2Mi', /\becho\s+"?(\d+)"?\s*(?:>|\|\s*(?:sudo\s+)?tee)\s*\/proc\/sys\/vm\/nr_hugepages\b/g],
  ['2Mi', /\becho\s+"?(\d+)"?\s*(?:>|\|\s*(?:sudo\s+)?tee)\s*\S*\/hugepages-2048kB\/nr_hugepages\b/g],
  ['1Gi', /\becho\s+"?(\d+)"?\s*(?:>|\|\s*(?:sudo\s+)?tee)\s*\S*\/hugepages-1048576kB\/nr_hugepages\b/g],
];

const KERNEL_SIZES: Readonly<Record<string, keyof HugePages>> = { '2M': '2Mi', '1G': '1Gi' };

/** Reads `sysctl`, `/proc`, `/sys` and kernel parameters. The last setting wins. */
export function hugePages(userData: string): HugePages {
  const pages = { '2Mi': 0, '1Gi': 0 };
  for (const [size, pattern] of FILES) for (const [, count] of userData.matchAll(pattern)) pages[size] = Number(count);
  for (const [, size = '', count] of userData.matchAll(/\bhugepagesz=(2M|1G)\s+hugepages=(\d+)/g))
    pages[KERNEL_SIZES[size] ?? '2Mi'] = Number(count);
  return pages;
}
