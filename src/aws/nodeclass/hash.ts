/** Maintains the hashes for the detection of NodeClass drift. */

import { EC2_NODECLASS_HASH_V5, EC2_NODECLASS_HASH_VERSION, ec2NodeClassHash, matchesV5Hash } from '#api/hashes';
import {
  EC2_NODE_CLASS,
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2_NODECLASS_HASH_VERSION_ANNOTATION,
  type EC2NodeClass,
  getCondition,
  NODE_CLAIM,
  type NodeClaim,
} from '#api/objects';
import { type Informers, isNotFound, type KubeClient } from '#kube/client';
import { type Reconciler, settled } from '#kube/reconcilers';
import { fieldErrors } from './fields.ts';

export const claimsOf = (informers: Informers, nodeClass: EC2NodeClass): readonly NodeClaim[] =>
  informers
    .store(NODE_CLAIM)
    .list()
    .filter(
      ({ spec: { nodeClassRef } }) =>
        nodeClassRef.group === EC2_NODE_CLASS.group &&
        nodeClassRef.kind === EC2_NODE_CLASS.kind &&
        nodeClassRef.name === nodeClass.metadata.name,
    );

/** @param caBundle part of the hash, so that nodes are replaced if the certificate authority of the cluster changes */
export function nodeClassHash(client: KubeClient, informers: Informers, caBundle: string): Reconciler<EC2NodeClass> {
  /**
   * Reports whether the EC2NodeClass was edited since Karpenter wrote the NodeClaim's hash. Only hashes of version v5
   * can be compared.
   */
  function isEditedSince({ metadata: { annotations = {} } }: NodeClaim, nodeClass: EC2NodeClass): boolean {
    const hash = annotations[EC2_NODECLASS_HASH_ANNOTATION];
    if (annotations[EC2_NODECLASS_HASH_VERSION_ANNOTATION] !== EC2_NODECLASS_HASH_V5 || hash === undefined)
      return false;
    return !matchesV5Hash(nodeClass, caBundle, hash);
  }

  /**
   * Writes the current hash to a NodeClaim. A drifted NodeClaim keeps its hash, which differs from every current hash.
   */
  async function migrate(claim: NodeClaim, nodeClass: EC2NodeClass, hash: string): Promise<void> {
    const isDrifted = getCondition(claim, 'Drifted') !== undefined || isEditedSince(claim, nodeClass);
    const annotations = {
      [EC2_NODECLASS_HASH_VERSION_ANNOTATION]: EC2_NODECLASS_HASH_VERSION,
      ...(isDrifted ? {} : { [EC2_NODECLASS_HASH_ANNOTATION]: hash }),
    };
    try {
      await client.patch(NODE_CLAIM, { name: claim.metadata.name }, { metadata: { annotations } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Returns undefined if a field of the NodeClass is invalid. Its conditions report the error. */
  function hashOf(nodeClass: EC2NodeClass): string | undefined {
    return fieldErrors(nodeClass).length > 0 ? undefined : ec2NodeClassHash(nodeClass, caBundle);
  }

  return {
    name: 'nodeclass.hash',
    watches: EC2_NODE_CLASS,
    concurrency: 10,
    async reconcile(nodeClass) {
      const hash = hashOf(nodeClass);
      if (hash === undefined) return settled;
      const known = nodeClass.metadata.annotations ?? {};
      if (known[EC2_NODECLASS_HASH_VERSION_ANNOTATION] !== EC2_NODECLASS_HASH_VERSION)
        for (const claim of claimsOf(informers, nodeClass)) {
          const version = claim.metadata.annotations?.[EC2_NODECLASS_HASH_VERSION_ANNOTATION];
          if (version !== EC2_NODECLASS_HASH_VERSION) await migrate(claim, nodeClass, hash);
        }
      const annotations = {
        [EC2_NODECLASS_HASH_ANNOTATION]: hash,
        [EC2_NODECLASS_HASH_VERSION_ANNOTATION]: EC2_NODECLASS_HASH_VERSION,
      };
      if (Object.entries(annotations).some(([key, value]) => known[key] !== value))
        await client.patch(EC2_NODE_CLASS, { name: nodeClass.metadata.name }, { metadata: { annotations } });
      return settled;
    },
  };
}
