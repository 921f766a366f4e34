/** What a node needs to know to join, whatever its family. */
import type { Taint } from '../../api/kubernetes.ts';
import { CAPACITY_TYPE_LABEL, DO_NOT_SYNC_TAINTS_LABEL, UNREGISTERED_TAINT } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { AmiFamily } from '../amis/families.ts';
import type { ClusterFacts } from '../cluster.ts';
import type { Kubelet, RawKubelet } from '../kubelet/block.ts';

export interface Bootstrap {
  readonly cluster: ClusterFacts;
  /** Service CIDR, where the family needs it. */
  readonly cidr: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** With maxPods, reserved resources and cluster DNS filled in. */
  readonly kubelet: Kubelet;
  /** The same, with the fields that the provider doesn't understand. */
  readonly rawKubelet: RawKubelet;
  /** The NodeClass's own user data. */
  readonly custom: string | undefined;
  readonly raid0: boolean;
  /** Version of Bottlerocket, when it is known. */
  readonly imageVersion?: string | undefined;
}

/** User data that cannot be rendered: the NodeClass's text is not what its family understands. */
export class InvalidUserData extends Error {}

/** Domains whose labels kubelets may not set themselves; the API server syncs them. */
const NODE_RESTRICTED = /^(.*\.)?(node-restriction\.kubernetes\.io|kubernetes\.io|k8s\.io)$/;

/** Labels that the kubelet registers the node with. */
export function nodeLabels(claim: NodeClaim, capacityType: string, family: AmiFamily): Record<string, string> {
  const all = {
    ...claim.metadata.labels,
    [CAPACITY_TYPE_LABEL]: capacityType,
    ...(family.name === 'Custom' ? {} : { [DO_NOT_SYNC_TAINTS_LABEL]: 'true' }),
  };
  return Object.fromEntries(
    Object.entries(all).filter(([key]) => !(key.includes('/') && NODE_RESTRICTED.test(key.split('/')[0] ?? ''))),
  );
}

/** Taints that the kubelet registers the node with: the claim's, and one that keeps pods off until the node is synced. */
export function nodeTaints({ spec }: NodeClaim): readonly Taint[] {
  const taints: readonly Taint[] = [...(spec.taints ?? []), ...(spec.startupTaints ?? [])];
  const { key, effect } = UNREGISTERED_TAINT;
  return taints.some((taint) => taint.key === key && taint.effect === effect)
    ? taints
    : [...taints, UNREGISTERED_TAINT];
}
