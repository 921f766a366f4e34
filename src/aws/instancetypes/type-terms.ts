/** Computes the capacity, the overhead and the volumes of an instance type for a NodeClass. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '#api/objects';
import { sumOf, type Term, type Terms, type TypeTerms } from '#engine/model';
import type { AmiFamily } from '../amis/families.ts';
import type { Kubelet } from '../kubelet/block.ts';
import type { Reserved } from '../kubelet/expressions.ts';
import { eniLimitedPods } from '../kubelet/pod-limit.ts';
import { capacityTerms, memoryTerms } from './capacity.ts';
import { overheadTerms } from './overhead.ts';
import { volumeTerms } from './volume-limits.ts';

interface TypeTermsContext {
  readonly family: AmiFamily;
  readonly kubelet: Kubelet;
  readonly pods: readonly Term[];
  /** Resources that the kubelet block reserves. Default: its quantities without expressions. */
  readonly reserved?: Reserved;
  readonly reservedEnis: number;
  readonly memoryOverheadPercent: number;
  /** Adds the differences that registered nodes reported. */
  readonly learned?: (predicted: Terms) => Terms;
}

export function typeTerms(
  info: InstanceTypeInfo,
  nodeClass: EC2NodeClass,
  { family, kubelet, pods, reserved, reservedEnis, memoryOverheadPercent, learned }: TypeTermsContext,
): TypeTerms {
  const predicted = capacityTerms(info, nodeClass, { family, pods, memoryOverheadPercent });
  const capacity = learned?.(predicted) ?? predicted;
  const mostPods = sumOf(pods);
  return {
    capacity,
    overhead: overheadTerms(
      kubelet,
      {
        vcpus: info.VCpuInfo?.DefaultVCpus ?? 0,
        pods: family.eniLimitedMemory ? eniLimitedPods(info, nodeClass, 0) : mostPods,
        memory: sumOf(memoryTerms(info, memoryOverheadPercent)),
        ephemeralStorage: sumOf(capacity['ephemeral-storage']),
      },
      reserved,
    ),
    volumeLimits: volumeTerms(info, nodeClass, { family, pods: mostPods, reservedEnis }),
  };
}
