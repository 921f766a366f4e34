/** Settings that a node of any AMI family needs to join the cluster. */
import {
  CAPACITY_TYPE_LABEL,
  DO_NOT_SYNC_TAINTS_LABEL,
  type NodeClaim,
  type Taint,
  UNREGISTERED_TAINT,
} from '#api/objects';
import type { AmiFamily } from '../amis/families.ts';
import type { ClusterFacts } from '../cluster.ts';
import type { Kubelet, RawKubelet } from '../kubelet/block.ts';

export interface Bootstrap {
  readonly cluster: ClusterFacts;
  /** Service CIDR, if the family needs it. */
  readonly cidr: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Kubelet settings with resolved maxPods, reserved resources and cluster DNS. */
  readonly kubelet: Kubelet;
  /** The same settings, including fields that the provider does not interpret. */
  readonly rawKubelet: RawKubelet;
  /** Custom user data of the NodeClass. */
  readonly custom: string | undefined;
  readonly raid0: boolean;
  /** Version of Bottlerocket, if it is known. */
  readonly imageVersion?: string | undefined;
}

/** The custom user data of the NodeClass is invalid for its AMI family. */
export class InvalidUserData extends Error {}

/** Domains with labels that the kubelet may not set. The operator adds these labels to the node. */
const NODE_RESTRICTED = /^(.*\.)?(node-restriction\.kubernetes\.io|kubernetes\.io|k8s\.io)$/;

/** Returns the labels with which the kubelet registers the node. */
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

/**
 * Returns the taints for the registration of the node: the taints of the NodeClaim, and the unregistered taint. It
 * keeps pods off the node until its labels are synchronized.
 */
export function nodeTaints({ spec }: NodeClaim): readonly Taint[] {
  const taints: readonly Taint[] = [...(spec.taints ?? []), ...(spec.startupTaints ?? [])];
  const { key, effect } = UNREGISTERED_TAINT;
  return taints.some((taint) => taint.key === key && taint.effect === effect)
    ? taints
    : [...taints, UNREGISTERED_TAINT];
}
