/**
 * A world with failing writes, deleted Nodes, and errors of clouds and NodePools, for tests of the NodeClaim life
 * cycle.
 */
import { type Condition, NODE, NODE_POOL, type NodePool } from '#api/objects';
import { ApiError } from '#kube/client';
import { World } from '../harness.ts';

type Template = NodePool['spec']['template'];

export const broken = new ApiError(500, 'InternalError', 'the API server has a bad day');

export class TroubledWorld extends World {
  /** Creates a NodePool without consolidation, and one pending pod. */
  async begin(template: Partial<Template['spec']> = {}, metadata: Template['metadata'] = {}): Promise<void> {
    const seed = this.nodePool('seed');
    this.kube.delete(NODE_POOL, seed.metadata);
    this.nodePool('default', {
      template: { metadata, spec: { ...seed.spec.template.spec, ...template } },
      disruption: { consolidateAfter: 'Never' },
    });
    this.start();
    await this.pass(2);
    this.pending(1);
  }

  /** Makes the first writes of a kind fail with these errors. */
  failing(operation: string, ...errors: readonly Error[]): () => number {
    let failed = 0;
    this.kube.beforeWrite = (at) => {
      const error = at === operation ? errors[failed] : undefined;
      if (error === undefined) return;
      failed += 1;
      throw error;
    };
    return () => failed;
  }

  get claimRef(): { readonly name: string } {
    const [claim] = this.claims;
    if (claim === undefined) throw new Error('there is no NodeClaim');
    return claim.metadata;
  }

  get conditions(): readonly Condition[] {
    return this.claims[0]?.status?.conditions ?? [];
  }

  messageOf(type: string): string | undefined {
    return this.conditions.find((condition) => condition.type === type)?.message;
  }

  removeNode(): void {
    const [node] = this.nodes;
    if (node === undefined) throw new Error('there is no Node');
    this.kube.beforeWrite = () => undefined;
    this.kube.patch(NODE, node.metadata, { metadata: { finalizers: [] } });
    this.kube.delete(NODE, node.metadata);
  }

  joinAs(more: Parameters<World['join']>[2]): void {
    for (const [providerID, { created }] of this.cloud.instances) this.join(providerID, created, more);
  }
}
