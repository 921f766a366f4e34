import { describe, expect, it } from '@jest/globals';
import { amountsOf } from '#engine/model';
import { overheadTerms } from '../../../../src/aws/instancetypes/overhead.ts';
import type { Kubelet } from '../../../../src/aws/kubelet/block.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const input = { vcpus: 2, pods: 29, memory: 7577 * MIB, ephemeralStorage: 20 * GIB };

const overheadOf = (kubelet: Kubelet, given: typeof input) =>
  amountsOf({ capacity: {}, overhead: overheadTerms(kubelet, given), volumeLimits: {} }).overhead;

describe('overheadTerms', () => {
  it.each([
    [1, 60],
    [2, 70],
    [4, 80],
    [8, 90],
    [16, 110],
    [32, 150],
    [48, 190],
    [64, 230],
    [96, 310],
    [192, 550],
  ])('reserves of %i vCPUs %i milli-cores', (vcpus, milli) => {
    expect(overheadOf({}, { ...input, vcpus }).kubeReserved.cpu).toBe(milli);
  });

  it('sizes memory by pods', () => {
    expect(overheadOf({}, input)).toEqual({
      kubeReserved: { cpu: 70, memory: 574 * MIB, 'ephemeral-storage': GIB },
      systemReserved: {},
      evictionThreshold: { memory: 100 * MIB, 'ephemeral-storage': 2 * GIB },
    });
  });

  it('lets the kubelet block replace single entries', () => {
    const kubelet = { kubeReserved: { cpu: '1', pid: '500' }, systemReserved: { memory: '1Gi' } };
    expect(overheadOf(kubelet, input)).toMatchObject({
      kubeReserved: { cpu: 1000, memory: 574 * MIB, pid: 500 },
      systemReserved: { memory: GIB },
    });
  });

  it.each([
    ['5%', Math.ceil((input.memory / 100) * 5)],
    ['500Mi', 500 * MIB],
    ['100%', 0],
  ])('reads a threshold of %s', (text, bytes) => {
    const kubelet = { evictionHard: { 'memory.available': text } };
    expect(overheadOf(kubelet, input).evictionThreshold.memory).toBe(bytes);
  });
});
