/** Controllers in virtual time with a scheduler and agents that change nodes. */
import { getCondition, isTrue, NODE, NODE_POOL, type Node, type NodePool, POD, type Pod } from '#api/objects';
import { pseudoRandom, untolerated } from '#engine/model';
import { ApiError } from '#kube/client';
import { matchesNodeSelection } from '#local/testing';
import { World } from '../harness.ts';

export const MINUTE = 60;
export const AGENT = { key: 'agent', value: 'missing', effect: 'NoSchedule' } as const;

export class LaunchWorld extends World {
  /** Called for every Node each second. */
  meddle: (node: Node) => void = () => undefined;
  protected override readonly random = pseudoRandom(1);
  #serial = 0;

  override bindPods(): void {
    for (const node of this.nodes) this.meddle(node);
    super.bindPods();
  }

  /** Compares selectors and taints too. */
  protected override takes(node: Node, pod: Pod): boolean {
    const { spec, metadata } = node;
    if (!isTrue(node, 'Ready') || metadata.deletionTimestamp) return false;
    if (untolerated(pod.spec.tolerations, spec?.taints).length > 0) return false;
    return matchesNodeSelection(pod, node) && this.hasCpuFor(node, pod);
  }

  /** Starts the operator. */
  async begin(...args: readonly string[]): Promise<void> {
    this.start(args);
    await this.pass(2);
  }

  /** Creates a pending pod. */
  createPod(spec: Partial<Pod['spec']> = {}, cpu = '1', metadata: Partial<Pod['metadata']> = {}): Pod {
    this.#serial += 1;
    const name = `p-${this.#serial}`;
    return this.kube.create(POD, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default', uid: `uid-${this.#serial}`, ...metadata },
      spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }], ...spec },
      status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
    });
  }

  /** Creates the NodePool `default` with the requirements. */
  createPoolWith(requirements: NodePool['spec']['template']['spec']['requirements']): void {
    const { template } = this.nodePool('model').spec;
    this.kube.delete(NODE_POOL, { name: 'model' });
    this.nodePool('default', { template: { ...template, spec: { ...template.spec, requirements } } });
  }

  isBound(pod: Pod): boolean {
    return Boolean(this.kube.find(POD, pod.metadata)?.spec.nodeName);
  }

  async boundWithin(pod: Pod, seconds: number): Promise<boolean> {
    for (let second = 0; second < seconds && !this.isBound(pod); second += 1) await this.pass(1);
    return this.isBound(pod);
  }

  condition(name = 'default') {
    return getCondition(this.kube.get(NODE_POOL, { name }), 'LaunchesProductive');
  }

  /** Taints a registered node that has no pods. */
  taintNew(node: Node): void {
    const taints = node.spec?.taints ?? [];
    const isNew =
      node.metadata.labels?.['karpenter.sh/registered'] === 'true' && !taints.some(({ key }) => key === AGENT.key);
    if (isNew && !this.pods.some(({ spec }) => spec.nodeName === node.metadata.name))
      this.kube.patch(NODE, node.metadata, { spec: { taints: [...taints, AGENT] } });
  }

  /** Lets an agent taint each node at its registration, and remove the taint after a while. */
  taintFor(duration: number): void {
    const since = new Map<string, number>();
    this.meddle = (node) => {
      const { name, labels } = node.metadata;
      if (labels?.['karpenter.sh/registered'] !== 'true') return;
      const seconds = since.get(name) ?? 0;
      since.set(name, seconds + 1);
      const others = (node.spec?.taints ?? []).filter(({ key }) => key !== AGENT.key);
      if (seconds === 0) this.kube.patch(NODE, node.metadata, { spec: { taints: [...others, AGENT] } });
      if (seconds === duration) this.kube.patch(NODE, node.metadata, { spec: { taints: others } });
    };
  }

  /** Rejects evictions like an exhausted PodDisruptionBudget. */
  blockEvictions(): void {
    const client = this.kube.client.bind(this.kube);
    this.kube.client = (signal) => ({
      ...client(signal),
      evict: async () => {
        throw new ApiError(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.");
      },
    });
  }
}
