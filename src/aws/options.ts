/** What the AWS provider needs from its surroundings, and what it hands back. */
import type { NodeClaim } from '../api/nodeclaim.ts';
import type { CloudProvider } from '../cloud/provider.ts';
import type { Informers, KubeClient } from '../kube/client.ts';
import type { DocumentKeeper } from '../kube/document-keeper.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Controller } from '../kube/reconciler.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { StepTraces } from '../observe/traces/tracer.ts';
import type { PoolOfferings } from './offerings/report.ts';
import type { AwsStart } from './start/aws-start.ts';

/** The settings that the provider reads; the process's settings satisfy it. */
export interface AwsSettings {
  readonly clusterName: string;
  /** Empty: read from EKS. */
  readonly clusterEndpoint: string;
  /** Base64. Empty: the CA of the operator's own connection. */
  readonly clusterCaBundle: string;
  readonly isolatedVpc: boolean;
  readonly eksControlPlane: boolean;
  /** A fraction: 0.075 removes 7.5 % of an instance's memory. */
  readonly vmMemoryOverheadPercent: number;
  /** Queue name. Empty: no interruption handling. */
  readonly interruptionQueue: string;
  readonly reservedEnis: number;
  readonly disableDryRun: boolean;
  readonly amiRefreshIntervalMs: number;
  readonly subnetRefreshIntervalMs: number;
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  /** Keep away from zones that the cluster has been shifted away from. */
  readonly enableZonalShift: boolean;
  /** Path of the price book. Empty: there is none. */
  readonly priceBook: string;
  /** Weight of the expected cost of spot interruptions. 0: none is remembered. */
  readonly spotRisk: number;
  /** Expected part of the requested CPU that pods use. 0: surplus CPU credits do not count. */
  readonly expectedCpuUtilization: number;
  readonly packing: 'cheapest' | 'compatible';
  readonly featureGates: { readonly reservedCapacity: boolean; readonly nodeOverlay: boolean };
  readonly awsFeatureGates: { readonly nodeClassCel: boolean };
}

export interface AwsOptions {
  readonly settings: AwsSettings;
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined: nobody wants traces. */
  readonly traces?: StepTraces | undefined;
  /** Base64 CA certificates of the operator's API connection, used when no setting gives the bundle. */
  readonly apiServerCa?: string;
  /** Namespace of the operator. Undefined: nothing survives restarts. */
  readonly namespace?: string | undefined;
  /** `major.minor` as the API server's /version reports it. */
  readonly kubernetesVersion: () => Promise<string>;
  /** Called for each NodeClaim that is deleted because AWS takes its instance, with the kind of message. */
  readonly interrupted?: ((claim: NodeClaim, kind: string) => void) | undefined;
  /** Undefined: calls at the start wait and are repeated as later ones. */
  readonly start?: AwsStart | undefined;
}

export interface AwsProvider {
  readonly provider: CloudProvider;
  readonly controllers: () => readonly Controller[];
  /** Keeps what is remembered of spot pools over restarts. */
  readonly keeper?: DocumentKeeper | undefined;
  /** Which offerings of each NodePool are out, why, and until when. */
  readonly offerings: () => Promise<readonly PoolOfferings[]>;
}
