import { describe, expect, it } from '@jest/globals';
import { parseKubelet } from '../../../../src/aws/nodeclass/kubelet.ts';
import { kubeletErrors } from '../../../../src/aws/nodeclass/kubeletvalidation.ts';

describe('kubeletErrors', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ maxPodz: 3 }, 'spec.kubelet: unknown field "maxPodz"'],
    [{ podsPerCore: '3' }, 'spec.kubelet.podsPerCore: must be an integer'],
    [{ maxPods: -1 }, "spec.kubelet.maxPods: -1 can't be negative"],
    [
      { kubeReserved: { gpu: '1' } },
      'spec.kubelet.kubeReserved: "gpu" isn\'t a reservable resource, must be one of cpu, memory, ephemeral-storage, pid',
    ],
    [
      { systemReserved: { cpu: '-1' } },
      'spec.kubelet.systemReserved[cpu]: "-1" can\'t be a negative resource quantity',
    ],
    [
      { evictionHard: { 'memory.available': '120%' } },
      'spec.kubelet.evictionHard[memory.available]: "120%" must be a percentage or a resource quantity',
    ],
    [
      { evictionSoft: { 'memory.available': '5%' } },
      'spec.kubelet.evictionSoft[memory.available]: has no matching evictionSoftGracePeriod',
    ],
    [
      { imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60 },
      'spec.kubelet: imageGCHighThresholdPercent (50) must be greater than imageGCLowThresholdPercent (60)',
    ],
  ])('of %j', (raw, error) => {
    expect(kubeletErrors(raw)).toEqual([error]);
  });

  it('accepts upstream fields that the provider does not act on', () => {
    const raw = {
      shutdownGracePeriod: '30s',
      topologyManagerPolicy: 'best-effort',
      evictionSoft: { 'memory.available': '5%' },
      evictionSoftGracePeriod: { 'memory.available': '1m30s' },
    };
    expect(kubeletErrors(raw)).toEqual([]);
    expect(kubeletErrors(undefined)).toEqual([]);
  });
});

describe('parseKubelet', () => {
  it('keeps the fields that it understands', () => {
    expect(parseKubelet({ maxPods: 20, clusterDNS: ['10.0.0.10'], featureGates: {} })).toEqual({
      maxPods: 20,
      clusterDNS: ['10.0.0.10'],
    });
  });

  it('names what has the wrong type', () => {
    expect(() => parseKubelet({ cpuCFSQuota: 'yes' })).toThrow('parsing spec.kubelet, spec.kubelet.cpuCFSQuota');
  });
});
