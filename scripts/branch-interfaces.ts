/** Reads the table of branch network interfaces from AWS's source code, and formats the operator's table. */
import { compareSizes } from '#engine/testing';

/** An entry of the map in `limits.go`. gofmt writes each field on a separate line. */
const ENTRY = /^\t"([a-z0-9-]+)\.([a-z0-9-]+)": \{\n([\s\S]*?)^\t\},$/gm;

/** Returns the limits of instance types that are compatible with trunking, by family and size. */
export function branchLimits(source: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const families = new Map<string, Map<string, number>>();
  for (const [, family = '', size = '', fields = ''] of source.matchAll(ENTRY)) {
    const limit = Number(/^\t\tBranchInterface:\s+(\d+),$/m.exec(fields)?.[1]);
    if (!/^\t\tIsTrunkingCompatible:\s+true,$/m.test(fields) || !(limit > 0)) continue;
    families.set(family, (families.get(family) ?? new Map<string, number>()).set(size, limit));
  }
  return families;
}

/**
 * Formats the table. @param version version of amazon-vpc-resource-controller-k8s, or another name for the source of
 * the limits
 */
export function branchTable(limits: ReadonlyMap<string, ReadonlyMap<string, number>>, version: string): string {
  const rows = [...limits].sort(([a], [b]) => (a < b ? -1 : 1)).map(([family, sizes]) => row(family, sizes));
  return `/**
 * Branch network interfaces by family and size, for types that support trunking. AWS has no API for them, but publishes
 * the table \`pkg/aws/vpc/limits.go\` of its amazon-vpc-resource-controller-k8s (Apache-2.0). Written by
 * \`npm run renew:branch-interfaces\`. Source: ${version}.
 */
export const BRANCH_INTERFACES: Readonly<Record<string, string>> = {
${rows.join('\n')}
};
`;
}

function row(family: string, sizes: ReadonlyMap<string, number>): string {
  const entries = [...sizes].sort(([a], [b]) => compareSizes(a, b)).map(([size, limit]) => `${size}:${limit}`);
  return `  ${/^\w+$/.test(family) ? family : `'${family}'`}: '${entries.join(' ')}',`;
}
