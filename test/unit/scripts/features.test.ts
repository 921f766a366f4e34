/** Stages of features follow from their defaults, and every setting that Karpenter does not have is listed or excluded. */
import { describe, expect, it } from '@jest/globals';
import { AWS_GATES, AWS_OPERATOR_OPTIONS } from '#aws/settings';
import { CORE_GATES } from '#process/settings';
import { featureStages, OFF } from '../../../scripts/reference/feature-stages.ts';

/** Settings of Karpenter 1.14.1. */
const KARPENTER =
  'karpenterService metricsPort healthProbePort kubeClientQps kubeClientBurst enableProfiling disableControllerWarmup disableLeaderElection disableClusterStateObservability leaderElectionName leaderElectionNamespace memoryLimit cpuRequests logLevel logOutputPaths logErrorOutputPaths batchMaxMs batchIdleMs preferencePolicy minValuesPolicy ignoreDraRequests featureGates clusterName clusterEndpoint clusterCaBundle isolatedVpc eksControlPlane vmMemoryOverheadPercent interruptionQueue reservedEnis disableDryRun enableZonalShift amiRefreshIntervalMs subnetRefreshIntervalMs awsFeatureGates'.split(
    ' ',
  );
/** Settings that enable no feature: addresses, files and the mode of operation. */
const INPUTS: readonly string[] = ['livePage', 'debugEndpoints', 'priceBook', 'schedulerConfig', 'mode'];

describe('the list of features', () => {
  it('has every gate and every setting with a switch', () => {
    const gates = [...Object.values(CORE_GATES), ...Object.values(AWS_GATES)];
    expect(featureStages()).toHaveLength(Object.keys(OFF).length + gates.length);
    expect(featureStages()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'packing', stage: 'beta', other: 'PACKING=compatible' }),
        expect.objectContaining({ name: 'pod-nomination', stage: 'alpha', other: 'POD_NOMINATION=true' }),
        expect.objectContaining({ name: 'NodeRepair', stage: 'alpha', other: 'FEATURE_GATES=NodeRepair=true' }),
        expect.objectContaining({
          name: 'ReservedCapacity',
          stage: 'beta',
          other: 'FEATURE_GATES=ReservedCapacity=false',
        }),
      ]),
    );
    expect([...KARPENTER, ...INPUTS, ...Object.keys(OFF)].sort()).toEqual(Object.keys(AWS_OPERATOR_OPTIONS).sort());
  });

  it('has values that the parser of each setting accepts', () => {
    for (const [key, off] of Object.entries(OFF))
      expect(() => AWS_OPERATOR_OPTIONS[key as keyof typeof OFF].fromFlag(off)).not.toThrow();
  });
});
