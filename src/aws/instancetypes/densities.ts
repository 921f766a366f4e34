/** Computes the pod limit of nodes and the resources that their kubelets reserve. Both settings may be expressions. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '#api/objects';
import { sumOf, type Term } from '#engine/model';
import { messageOf } from '#lib';
import { inSlices, type Timepiece } from '#lib/clock';
import { familyOf } from '../amis/families.ts';
import { type Kubelet, parseKubelet } from '../kubelet/block.ts';
import { factsOf, hasExpressions, type Reserved, resolveReserved, withMaxPods } from '../kubelet/expressions.ts';
import { familyPodTerms, podTerms } from '../kubelet/pod-limit.ts';

interface Density {
  readonly pods: readonly Term[];
  readonly reserved: Reserved;
}

interface DensityOptions {
  readonly reservedEnis: number;
  /** True if kubelet settings may be expressions. */
  readonly nodeClassCel: boolean;
  readonly clock: Timepiece;
}

export class Densities {
  readonly #options: DensityOptions;
  /** Values of expressions, by the spec that contains them and by instance type. */
  readonly #evaluated = new WeakMap<EC2NodeClass['spec'], WeakMap<InstanceTypeInfo, Density>>();

  constructor(options: DensityOptions) {
    this.#options = options;
  }

  /** @throws ExpressionError */
  of(nodeClass: EC2NodeClass, info: InstanceTypeInfo): Density {
    const kubelet = parseKubelet(nodeClass.spec.kubelet);
    if (!this.#options.nodeClassCel || !hasExpressions(kubelet)) return this.#compute(nodeClass, info, kubelet);
    const byType = this.#evaluated.get(nodeClass.spec) ?? new WeakMap<InstanceTypeInfo, Density>();
    this.#evaluated.set(nodeClass.spec, byType);
    const density = byType.get(info) ?? this.#compute(nodeClass, info, kubelet);
    byType.set(info, density);
    return density;
  }

  #compute(nodeClass: EC2NodeClass, info: InstanceTypeInfo, kubelet: Kubelet): Density {
    const { reservedEnis, nodeClassCel } = this.#options;
    const limits = { family: familyOf(nodeClass), reservedEnis };
    if (!nodeClassCel) {
      const reserved = resolveReserved(kubelet);
      return { pods: podTerms(info, nodeClass, kubelet, limits), reserved };
    }
    const numeric = withMaxPods(kubelet, factsOf(info, sumOf(familyPodTerms(info, nodeClass, limits))));
    const pods = podTerms(info, nodeClass, numeric, limits);
    return { pods, reserved: resolveReserved(kubelet, factsOf(info, sumOf(pods))) };
  }

  /** Returns the error of the first expression that fails for an instance type, or undefined if no expression fails. */
  failure(nodeClass: EC2NodeClass, infos: ReadonlyMap<string, InstanceTypeInfo>): Promise<string | undefined> {
    return inSlices(this.#failureSteps(nodeClass, infos), this.#options.clock);
  }

  *#failureSteps(
    nodeClass: EC2NodeClass,
    infos: ReadonlyMap<string, InstanceTypeInfo>,
  ): Generator<undefined, string | undefined> {
    for (const [name, info] of infos) {
      try {
        this.of(nodeClass, info);
      } catch (error) {
        return `${messageOf(error)} (instance-type=${name})`;
      }
      yield;
    }
    return undefined;
  }
}
