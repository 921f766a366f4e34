/** NodeClaims that were launched for pending pods. The pods stay on them instead of getting another node. */
import { describe, expect, it } from '@jest/globals';
import { parseManifests } from '../../../src/cli/objects/read.ts';
import { type SimulateOptions, simulateManifests } from '../../../src/cli/simulate.ts';

const POOL = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
`;

const claim = (
  name: string,
  cpu: number,
  status = `{providerID: aws:///${name}, allocatable: {cpu: ${cpu}, memory: 64Gi, pods: 99}}`,
) => `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: ${name}, uid: ${name}, labels: {karpenter.sh/nodepool: default}}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [us-west-2a]}]
  resources: {requests: {cpu: ${cpu}, memory: 64Gi, pods: 99}}
status: ${status}
`;

const pod = (name: string) => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: default, uid: ${name}}
spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}
`;

const nominated = (name: string, to: string, at: string) => `
apiVersion: v1
kind: Event
metadata: {name: ${name}.${to}, namespace: default}
involvedObject: {kind: Pod, namespace: default, name: ${name}, uid: ${name}}
reason: Nominated
message: 'Pod should schedule on: nodeclaim/${to}'
lastTimestamp: '${at}'
`;

async function placesIn(texts: readonly string[], options: Pick<SimulateOptions, 'packing'> = {}) {
  const manifests = parseManifests(texts.join('\n---\n'), 'test.yaml');
  const { simulation } = await simulateManifests(manifests, { nowMs: Date.parse('2026-06-03T10:30:00Z'), ...options });
  return {
    launches: simulation.nodeClaims.length,
    places: Object.fromEntries(simulation.existingNodes.map(({ name, pods }) => [name, pods])),
  };
}

describe('simulate', () => {
  it('places pods on a NodeClaim without an instance instead of launching a second node', async () => {
    const found = await placesIn([POOL, claim('joining', 2, '{}'), pod('a'), pod('b'), pod('c')]);
    expect(found).toEqual({ launches: 1, places: { joining: ['default/a', 'default/b'] } });
  });

  it('keeps pods on the nodes that were launched for them', async () => {
    const events = ['first', 'last'].flatMap((to, at) =>
      ['a', 'b'].map((name) => nominated(name, to, `2026-06-03T10:2${at}:00Z`)),
    );
    const cluster = [POOL, claim('first', 4), claim('last', 4), pod('a'), pod('b')];
    expect((await placesIn(cluster)).places).toEqual({ first: ['default/a', 'default/b'] });
    expect((await placesIn([...cluster, ...events])).places).toEqual({ last: ['default/a', 'default/b'] });
    const placed = events.map((event) => event.replace('nodeclaim/last', 'nodeclaim/last, node/last'));
    expect((await placesIn([...cluster, ...placed])).places).toEqual({ first: ['default/a', 'default/b'] });
    expect((await placesIn([...cluster, ...events], { packing: 'compatible' })).places).toEqual({
      first: ['default/a', 'default/b'],
    });
  });
});
