/** Rejects objects of Karpenter's alpha and beta APIs, and names their replacements in v1. */
import type { KubeObject } from '#api/objects';
import { InputError } from './errors.ts';
import type { Manifest } from './read.ts';

/** Replacements of old kinds, by API group. */
const SUCCESSORS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'karpenter.sh': {
    Provisioner: 'a NodePool of karpenter.sh/v1',
    Machine: 'NodeClaims that NodePools of karpenter.sh/v1 create',
    NodePool: 'karpenter.sh/v1',
    NodeClaim: 'karpenter.sh/v1',
  },
  'karpenter.k8s.aws': {
    AWSNodeTemplate: 'an EC2NodeClass of karpenter.k8s.aws/v1',
    EC2NodeClass: 'karpenter.k8s.aws/v1',
  },
};

function successorOf({ apiVersion, kind }: KubeObject): string | undefined {
  const [group = '', version] = apiVersion.split('/');
  return version === 'v1' ? undefined : SUCCESSORS[group]?.[kind];
}

/** @throws InputError with the first such object and its replacement */
export function refuseOldVersions(manifests: readonly Manifest[]): void {
  const old = manifests.filter(({ object }) => successorOf(object) !== undefined);
  const [first] = old;
  if (first === undefined) return;
  const { apiVersion, kind } = first.object;
  const more = old.length === 1 ? '' : ` (and ${old.length - 1} more objects of old versions)`;
  throw new InputError(
    first.where,
    `${apiVersion} ${kind} belongs to a Karpenter API before v1, which is not supported; convert it to ` +
      `${successorOf(first.object)} first with karpenter convert -f FILE${more}`,
  );
}
