import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import type { EC2NodeClass } from '#api/objects';
import { sumOf } from '#engine/model';
import { realClock } from '#lib/clock';
import { Densities } from '../../../../src/aws/instancetypes/densities.ts';

const nodeClassOf = (maxPods: string): EC2NodeClass =>
  ({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default' },
    spec: { amiFamily: 'AL2023', amiSelectorTerms: [{ alias: 'al2023@latest' }], kubelet: { maxPods } },
  }) as unknown as EC2NodeClass;
const infos = new Map<string, InstanceTypeInfo>(
  Array.from({ length: 40 }, (_, at) => [
    `m5.${at}`,
    { InstanceType: `m5.${at}` as 'm5.large', VCpuInfo: { DefaultVCpus: at + 1 } },
  ]),
);

describe('the evaluation of expressions for every instance type', () => {
  it('yields to other work between types', async () => {
    let nowMs = 0;
    // Each type takes longer than the limit of a step.
    const clock = { now: () => nowMs, monotonic: () => (nowMs += 10) };
    let turns = 0;
    let next = setImmediate(function turn() {
      turns += 1;
      next = setImmediate(turn);
    });
    const densities = new Densities({ reservedEnis: 0, nodeClassCel: true, clock });
    expect(await densities.failure(nodeClassOf('vcpus * 10'), infos)).toBeUndefined();
    clearImmediate(next);
    expect(turns).toBeGreaterThanOrEqual(infos.size / 2);
  });

  it('evaluates each expression once for a spec and a type', async () => {
    const densities = new Densities({ reservedEnis: 0, nodeClassCel: true, clock: realClock() });
    const nodeClass = nodeClassOf('vcpus * 10');
    await densities.failure(nodeClass, infos);
    const [info = {}] = infos.values();
    const later = { ...nodeClass, status: {} };
    expect(densities.of(later, info)).toBe(densities.of(nodeClass, info));
    expect(sumOf(densities.of(nodeClass, info).pods)).toBe(10);
  });

  it('names the field, the type and the limit of an expression that costs too much', async () => {
    const densities = new Densities({ reservedEnis: 0, nodeClassCel: true, clock: realClock() });
    const maxPods = "instance_type.startsWith('m5.7') ? ['ab'].map(t, t + t)".concat(
      '.map(t, t + t)'.repeat(20),
      '.size() : 8',
    );
    expect(await densities.failure(nodeClassOf(maxPods), infos)).toMatch(
      /^evaluating expression, it costs more than 1000 units .*\(field=spec\.kubelet\.maxPods\) \(instance-type=m5\.7\)$/,
    );
  });
});
