/** Checks that running pods fit on the result of a conversion. */
import { describe, expect, it } from '@jest/globals';
import { parseManifests } from '../../../../../src/cli/objects/read.ts';
import { runConvert } from '../run-convert.ts';
import { conversions, fixture } from './conversions.ts';

const { write } = conversions();

describe('--pods', () => {
  const meta = (name: string, more: object = {}): object => ({
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    ...more,
  });
  const node = (name: string, labels: object): object => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: meta(name, {
      labels: {
        'node.kubernetes.io/instance-type': 'm6g.large',
        'topology.kubernetes.io/zone': 'eu-central-1a',
        'topology.kubernetes.io/region': 'eu-central-1',
        'kubernetes.io/arch': 'arm64',
        'kubernetes.io/os': 'linux',
        ...labels,
      },
    }),
    spec: { providerID: `aws:///eu-central-1a/i-${name}` },
    status: {
      allocatable: { cpu: '1930m', memory: '7000Mi', pods: '29' },
      capacity: { cpu: '2', memory: '8Gi', pods: '29' },
    },
  });
  const pod = (name: string, spec: object, owner?: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: meta(name, {
      namespace: 'default',
      ...(owner ? { ownerReferences: [{ kind: owner, name: 'o', uid: 'o' }] } : {}),
    }),
    spec: { nodeName: 'one', tolerations: [{ key: 'dedicated', operator: 'Exists' }], ...spec },
    status: { phase: 'Running' },
  });
  const requests = (cpu: string): object => ({ containers: [{ name: 'c', resources: { requests: { cpu } } }] });
  const dump = (...pods: readonly object[]): string =>
    write('now.json', {
      apiVersion: 'v1',
      kind: 'List',
      items: [
        node('one', {}),
        node('two', { 'eks.amazonaws.com/capacityType': 'SPOT' }),
        node('kept', { 'eks.amazonaws.com/compute-type': 'fargate' }),
        ...pods,
      ],
    });
  const run = (path: string) =>
    runConvert('managed-node-groups', '-f', fixture('nodegroup.json'), '--pods', path, '--now', '2026-01-01T00:00:00Z');

  it('confirms that running pods fit, and prints the cost of nodes before and after', async () => {
    const path = dump(
      pod('web', requests('500m'), 'ReplicaSet'),
      pod('proxy', requests('100m'), 'DaemonSet'),
      pod('static', requests('100m'), 'Node'),
      pod('fargate', { ...requests('1'), nodeName: 'kept' }, 'ReplicaSet'),
    );
    const { errors, code } = await run(path);
    expect(errors).toMatch(/^now: +2 nodes for \$0\.1[0-9]+\/h \(instances and /m);
    expect(errors).toMatch(/^afterwards: 1 node for \$0\.0[0-9]+\/h \(instances and /m);
    expect(errors).toContain('1 new node for');
    expect(errors).toContain('0 pods unschedulable');
    expect(code).toBe(0);
  });

  it('counts the surplus CPU credits of burstable nodes', async () => {
    const burstable = node('one', {
      'node.kubernetes.io/instance-type': 't3.large',
      'kubernetes.io/arch': 'amd64',
    });
    const priceWith = async (cpu: string): Promise<number> => {
      const items = [burstable, pod('web', requests(cpu), 'ReplicaSet')];
      const { errors } = await run(write('now.json', { apiVersion: 'v1', kind: 'List', items }));
      return Number(/^now: +1 node for \$([0-9.]+)\/h /m.exec(errors)?.[1]);
    };
    // 0.7 of 1.5 vCPU is used, t3.large includes 0.6 vCPU, and a vCPU-hour costs $0.05
    expect((await priceWith('1500m')) - (await priceWith('100m'))).toBeCloseTo(0.0225, 4);
  });

  it('names the pods that do not fit with the reason, and ends with 2', async () => {
    const { output, errors, code } = await run(
      dump(pod('huge', requests('64'), 'ReplicaSet'), pod('web', requests('1'))),
    );
    expect(code).toBe(2);
    expect(errors).toMatch(/UNSCHEDULABLE\n {2}default\/huge: /);
    expect(errors).toContain('1 pod unschedulable');
    expect(parseManifests(output, 'result')).toHaveLength(2);
  });

  it('respects the limits of the groups', async () => {
    const pods = Array.from({ length: 14 }, (_, index) => pod(`p${index}`, requests('1500m')));
    const { errors, code } = await run(dump(...pods));
    expect(code).toBe(2);
    expect(errors).toMatch(/8 pods unschedulable/);
  });
});
