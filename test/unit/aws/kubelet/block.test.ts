import { describe, expect, it } from '@jest/globals';
import { parseKubelet } from '../../../../src/aws/kubelet/block.ts';
import { kubeletErrors } from '../../../../src/aws/kubelet/block-validation.ts';

describe('kubeletErrors', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ maxPodz: 3 }, 'spec.kubelet: unknown field "maxPodz"'],
    [
      { podsPerCore: '3' },
      'spec.kubelet: json: cannot unmarshal string into Go struct field KubeletConfiguration.podsPerCore of type int32',
    ],
    [
      { podsPerCore: 1.5 },
      'spec.kubelet: json: cannot unmarshal number 1.5 into Go struct field KubeletConfiguration.podsPerCore of type int32',
    ],
    [{ authentication: { webhook: { cached: true } } }, 'spec.kubelet: unknown field "authentication.webhook.cached"'],
    [{ logging: { vmodule: [{ file: 'a' }] } }, 'spec.kubelet: unknown field "logging.vmodule[0].file"'],
    [
      { authentication: { webhook: { enabled: 'yes' } } },
      'spec.kubelet: json: cannot unmarshal string into Go struct field KubeletConfiguration.authentication.webhook.enabled of type bool',
    ],
    [
      { clusterDNS: '10.0.0.10' },
      'spec.kubelet: json: cannot unmarshal string into Go struct field KubeletConfiguration.clusterDNS of type []string',
    ],
    [
      { evictionHard: 5 },
      'spec.kubelet: json: cannot unmarshal number into Go struct field KubeletConfiguration.evictionHard of type map[string]string',
    ],
    [
      { cpuCFSQuota: 1 },
      'spec.kubelet: json: cannot unmarshal number into Go struct field KubeletConfiguration.cpuCFSQuota of type bool',
    ],
    [{ shutdownGracePeriod: 'soon' }, 'spec.kubelet: time: invalid duration "soon"'],
    [
      { registerWithTaints: [] },
      "spec.kubelet.registerWithTaints: can't be set, Karpenter sets it from the NodeClaim's taints so the node registers unschedulable until it's ready",
    ],
    [
      { evictionHard: { 'memory.free': '1Gi' } },
      'spec.kubelet.evictionHard: "memory.free" isn\'t a valid eviction signal, must be one of memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available',
    ],
    [
      { evictionMinimumReclaim: { 'nodefs.available': '-1Gi' } },
      'spec.kubelet.evictionMinimumReclaim[nodefs.available]: "-1Gi" can\'t be a negative resource quantity',
    ],
    [{ imageGCHighThresholdPercent: 101 }, 'spec.kubelet.imageGCHighThresholdPercent: 101 must be between 0 and 100'],
    [{ evictionMaxPodGracePeriod: -5 }, "spec.kubelet.evictionMaxPodGracePeriod: -5 can't be negative"],
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
      { evictionHard: { 'memory.available': '5 %' } },
      'spec.kubelet.evictionHard[memory.available]: "5 %" must be a percentage or a resource quantity',
    ],
    [
      { evictionSoft: { 'memory.available': '5%' } },
      'spec.kubelet.evictionSoft[memory.available]: has no matching evictionSoftGracePeriod',
    ],
    [
      { imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60 },
      'spec.kubelet: imageGCHighThresholdPercent (50) must be greater than imageGCLowThresholdPercent (60)',
    ],
  ])('returns the errors of %j', (raw, error) => {
    expect(kubeletErrors(raw)).toEqual([error]);
  });

  it('returns only the first wrong type, and applies every later check to the other fields', () => {
    const raw = { podsPerCore: '3', cpuCFSQuota: 'no', maxPodz: 1, kubeReserved: { cpu: 1 }, maxPods: -1 };
    expect(kubeletErrors(raw)).toEqual([
      'spec.kubelet: json: cannot unmarshal string into Go struct field KubeletConfiguration.podsPerCore of type int32',
      "spec.kubelet.maxPods: -1 can't be negative",
    ]);
  });

  it('requires matching soft thresholds and grace periods', () => {
    const raw = {
      evictionSoft: { 'memory.available': '5.5%' },
      evictionSoftGracePeriod: { 'nodefs.available': '-30s', 'pid.available': '3' },
    };
    expect(kubeletErrors(raw)).toEqual([
      'spec.kubelet.evictionSoftGracePeriod[nodefs.available]: "-30s" can\'t be a negative duration',
      'spec.kubelet.evictionSoftGracePeriod[pid.available]: "3" must be a duration',
      'spec.kubelet.evictionSoft[memory.available]: has no matching evictionSoftGracePeriod',
      'spec.kubelet.evictionSoftGracePeriod[nodefs.available]: has no matching evictionSoft',
      'spec.kubelet.evictionSoftGracePeriod[pid.available]: has no matching evictionSoft',
    ]);
  });

  it('accepts expressions in the supported fields', () => {
    expect(kubeletErrors({ maxPods: 'vcpus * 10', kubeReserved: { memory: 'max_pods * 11 + 255' } })).toEqual([]);
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
  it('keeps the supported fields', () => {
    expect(parseKubelet({ maxPods: 20, clusterDNS: ['10.0.0.10'], featureGates: {} })).toEqual({
      maxPods: 20,
      clusterDNS: ['10.0.0.10'],
    });
  });

  it('names the field with the wrong type', () => {
    expect(() => parseKubelet({ cpuCFSQuota: 'yes' })).toThrow('parsing spec.kubelet, spec.kubelet.cpuCFSQuota');
  });
});
