/** Names of the public images of an alias, which contain their versions. */
import type { Alias } from './families.ts';

export interface ReleaseNames {
  /** Beginning of the names of all releases for one architecture. */
  readonly prefix: string;
  /** Expression for the rest of a name, whose first group is the version without `v`. */
  readonly version: RegExp;
}

/** Returns undefined for families without pinned versions. */
export function releaseNames(family: Alias['family'], cluster: string): ReleaseNames | undefined {
  switch (family) {
    case 'AL2':
      return { prefix: `amazon-eks-node-${cluster}-v`, version: /^(\d{8})$/ };
    case 'AL2023':
      return { prefix: `amazon-eks-node-al2023-x86_64-standard-${cluster}-v`, version: /^(\d{8})$/ };
    case 'Bottlerocket':
      return { prefix: `bottlerocket-aws-k8s-${cluster}-x86_64-v`, version: /^(\d{1,4}\.\d{1,4}\.\d{1,4})-/ };
    default:
      return undefined;
  }
}

/** Compares versions by their numbers. A `v` at the beginning does not matter. */
export function compareReleases(a: string, b: string): number {
  const [left, right] = [a, b].map((each) => each.replace(/^v+/, '').split('.').map(Number)) as [number[], number[]];
  for (const [at, part] of left.entries()) if (part !== right[at]) return part - (right[at] ?? 0);
  return 0;
}
