/** Explanation of a NodeClaim in a public format: its pods, its launch, the alternatives, and the way to a registered node. */
import { BALANCED_ZONE_ANNOTATION, NODEPOOL_LABEL, type NodeClaim, PREFERENCES_ANNOTATION } from '#api/objects';
import { defined } from '#lib';
import { type JoinProgress, joinProgress, type LaunchFailure } from '../node-join.ts';
import { singleZone } from '../zone-balance.ts';
import {
  type Alternatives,
  type AlternativesInput,
  alternativesOf,
  capacityTypeText,
  chosenOffering,
  type LaunchAnswer,
  type OfferingName,
  type OfferingPrice,
  priceOf,
} from './launch-alternatives.ts';

export interface NodeClaimExplanation extends Alternatives {
  readonly nodeClaim: string;
  readonly nodePool: string;
  readonly node?: string;
  readonly instance?: string;
  /** Pods on the node, and pending pods for which it was launched, by namespaced name. */
  readonly pods: readonly string[];
  /** Requests of the pods for which the NodeClaim was created. */
  readonly requests: Readonly<Record<string, string | number>>;
  /** Offering of the instance. Absent before the launch. */
  readonly launched?: OfferingName & Partial<OfferingPrice>;
  /** Choice of the zone, if the balance of zones made it. */
  readonly zone?: string;
  /** Decision on the preferences of pods. */
  readonly preferences?: string;
  /** Reason for the capacity type. */
  readonly capacityType?: string;
  /** Response of EC2. Absent if the operator was restarted since the launch, or in manifests. */
  readonly answer?: LaunchAnswer;
  /** Progress of the node. Absent after its registration. */
  readonly join?: JoinProgress;
  /** Unknown facts that affect the explanation. */
  readonly unknown?: readonly string[];
}

interface Input extends AlternativesInput {
  readonly pods: readonly string[];
  readonly nowMs: number;
  /** Undefined unless the operator failed to launch the instance. */
  readonly failure?: LaunchFailure | undefined;
}

export function explainNodeClaim(input: Input): NodeClaimExplanation {
  const { claim, answer, pods, nowMs, failure } = input;
  const chosen = chosenOffering(claim);
  const isLaunched = chosen.instanceType !== '';
  return {
    nodeClaim: claim.metadata.name,
    nodePool: claim.metadata.labels?.[NODEPOOL_LABEL] ?? '',
    ...defined({ node: claim.status?.nodeName, instance: claim.status?.providerID?.split('/').at(-1) }),
    pods: [...pods].sort(),
    requests: requestsOf(claim),
    ...(isLaunched && { launched: { ...chosen, ...priceOf(chosen, input) }, capacityType: capacityTypeText(input) }),
    ...alternativesOf(input),
    ...defined({
      answer,
      zone: zoneText(claim),
      preferences: claim.metadata.annotations?.[PREFERENCES_ANNOTATION],
      join: joinProgress(claim, nowMs, failure),
    }),
  };
}

function zoneText({ metadata, spec }: NodeClaim): string | undefined {
  const choice = metadata.annotations?.[BALANCED_ZONE_ANNOTATION];
  return choice === undefined ? undefined : `${singleZone(spec) ?? ''} was chosen to balance zones; ${choice}`;
}

const requestsOf = ({ spec }: NodeClaim): Readonly<Record<string, string | number>> => spec.resources?.requests ?? {};
