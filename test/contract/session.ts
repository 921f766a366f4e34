/** The provider on a back end, with Kubernetes objects in memory. */
import { EC2_NODE_CLASS, NODE_CLAIM, NODE_POOL, type NodeClaim } from '#api/objects';
import type { NodeClaimRequirement } from '#api/testing';
import { assemble } from '#aws/provider';
import { parseAwsSettings } from '#aws/settings';
import type { AwsProvider } from '#aws/testing';
import type { Controller, Outcome } from '#kube/reconcilers';
import { realClock } from '#lib/clock';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { nodeClaimOf, nodeClassOf, nodePoolOf } from '../support/awsobjects.ts';
import { MemoryKube } from '../support/memory-kube.ts';
import { type Backend, CLUSTER, NODE_ROLE } from './backend.ts';

const FLAGS = [
  `--cluster-name=${CLUSTER}`,
  '--cluster-endpoint=https://cluster.example',
  `--cluster-ca-bundle=${Buffer.from('a certificate').toString('base64')}`,
  `--interruption-queue=${CLUSTER}`,
];

export class Session {
  readonly kube = new MemoryKube(realClock(), 0);
  readonly backend: Backend;
  #aws: AwsProvider | undefined;
  #controllers: readonly Controller[] = [];
  #claims = 0;

  private constructor(backend: Backend) {
    this.backend = backend;
  }

  static async open(backend: Backend): Promise<Session> {
    const session = new Session(backend);
    const { kube } = session;
    kube.put(EC2_NODE_CLASS, nodeClassOf(CLUSTER, { role: NODE_ROLE, tags: { team: 'a' } }));
    kube.put(NODE_POOL, nodePoolOf({ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.large'] }));
    session.#aws = await assemble(
      {
        settings: parseAwsSettings(FLAGS, {}),
        client: kube.client(),
        informers: kube.informers(),
        events: { publish: () => undefined },
        clock: realClock(),
        log: silent,
        metrics: createMetrics(),
        kubernetesVersion: async () => '1.34',
      },
      backend.clients,
    );
    session.#controllers = session.#aws.controllers();
    return session;
  }

  get provider(): AwsProvider['provider'] {
    if (this.#aws === undefined) throw new Error('not started');
    return this.#aws.provider;
  }

  #find(name: string): Controller {
    const found = this.#controllers.find((each) => each.name === name);
    if (found === undefined) throw new Error(`no controller ${name}`);
    return found;
  }

  /** Runs one pass of a singleton. */
  async pass(name: string): Promise<Outcome> {
    const found = this.#find(name);
    if (!('singleton' in found)) throw new Error(`${name} is no singleton`);
    return found.reconcile({ signal: AbortSignal.timeout(25_000), log: silent });
  }

  /** Runs one reconcile of an object. */
  async reconcile(name: string, object: object | undefined): Promise<Outcome> {
    const found = this.#find(name);
    if (!('watches' in found)) throw new Error(`${name} reconciles no objects`);
    return found.reconcile(object, { signal: AbortSignal.timeout(25_000), log: silent });
  }

  nodeClass() {
    const found = this.kube.find(EC2_NODE_CLASS, { name: 'default' });
    if (found === undefined) throw new Error('the NodeClass is gone');
    return found;
  }

  claim(...requirements: readonly NodeClaimRequirement[]): NodeClaim {
    return this.kube.put(NODE_CLAIM, nodeClaimOf(`default-${this.#claims++}`, Date.now(), requirements));
  }

  /** Launches a node and stores the resulting NodeClaim, as the launch controller does. */
  async launch(...requirements: readonly NodeClaimRequirement[]): Promise<NodeClaim> {
    return this.kube.put(NODE_CLAIM, await this.provider.create(this.claim(...requirements)));
  }
}
