/**
 * Stages of features that change decisions. Alpha features are off by default. Beta features are on by default and have a
 * switch. A feature becomes stable when its switch is removed.
 */
import { AWS_GATES, AWS_OPERATOR_OPTIONS } from '#aws/settings';
import { CORE_GATES } from '#process/settings';
import { environmentName, type FeatureGate, type Option } from '#process/testing';

export interface FeatureStage {
  readonly name: string;
  readonly stage: 'alpha' | 'beta';
  /** Environment variable with the value that switches an alpha feature on, or a beta feature off. */
  readonly other: string;
  readonly help: string;
}

/** Settings that Karpenter does not have and that change decisions, with the value that switches the feature off. */
export const OFF = {
  packing: 'compatible',
  consolidation: 'compatible',
  steering: 'false',
  podDeletionCost: 'false',
  podNomination: 'false',
  podSurge: 'false',
  drainConditions: 'false',
  scheduledEvents: 'interruption',
  evictionPrice: '0',
  nodeHourlyFee: '0',
  spotRisk: '0',
  expectedCpuUtilization: '0',
  costHistory: 'false',
  metrics: 'karpenter',
} as const satisfies Partial<Record<keyof typeof AWS_OPERATOR_OPTIONS, string>>;

/** Values that switch alpha features on. The default is `true`. */
const ON: Readonly<Record<string, string>> = { evictionPrice: 'USD' };

export const featureStages = (): readonly FeatureStage[] => [
  ...Object.entries(OFF).map(([key, off]) => settingStage(key, AWS_OPERATOR_OPTIONS[key as keyof typeof OFF], off)),
  ...Object.values(CORE_GATES).map((gate) => gateStage(gate, 'FEATURE_GATES')),
  ...Object.values(AWS_GATES).map((gate) => gateStage(gate, 'AWS_FEATURE_GATES')),
];

function settingStage(key: string, { flag, shown, help }: Option<unknown>, off: string): FeatureStage {
  const isOff = shown === off;
  return {
    name: flag,
    stage: isOff ? 'alpha' : 'beta',
    other: `${environmentName(flag)}=${isOff ? (ON[key] ?? 'true') : off}`,
    help,
  };
}

const gateStage = ({ name, fallback, help }: FeatureGate, variable: string): FeatureStage => ({
  name,
  stage: fallback ? 'beta' : 'alpha',
  other: `${variable}=${name}=${!fallback}`,
  help,
});
