/** Computes the upgrade path of Karpenter versions. The versions 0.32 and 1.0 cannot be skipped. */

/** APIs of a version: alpha, alpha and beta, beta, beta with conversion to v1, only v1. */
export type ApiStage = 'alpha' | 'both' | 'beta' | 'conversion' | 'v1';

interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Parses `v0.32.1`, `1.0.8` or `1.14`. Returns undefined for other texts, such as `latest`. */
export function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch] = /^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?![\d.])/.exec(text) ?? [];
  return major === undefined || minor === undefined
    ? undefined
    : { major: Number(major), minor: Number(minor), patch: Number(patch ?? 0) };
}

export function stageOf({ major, minor }: Version): ApiStage {
  if (major === 0) return minor < 32 ? 'alpha' : minor === 32 ? 'both' : 'beta';
  return major === 1 && minor === 0 ? 'conversion' : 'v1';
}

/**
 * Last patches of beta versions. They store v1beta1 and serve v1, and they are the only versions to which 1.0 can be
 * rolled back.
 */
const LAST_PATCHES: Readonly<Record<number, number>> = { 33: 12, 34: 13, 35: 12, 36: 9, 37: 7 };
const LAST_BETA = 37;
/** First patch of 0.32 for which a rollback does not replace nodes. */
const BOTH_PATCH = 9;

/** Target version of one step. */
export interface Hop {
  readonly stage: ApiStage;
  /** Version in its usual notation. */
  readonly version: string;
  /** Version for `helm --version`. Tags have no `v` since 0.35. */
  readonly chart: string;
}

const betaHop = (minor: number): Hop => {
  const version = `0.${minor}.${LAST_PATCHES[minor]}`;
  return { stage: 'beta', version, chart: minor < 35 ? `v${version}` : version };
};
const BOTH: Hop = { stage: 'both', version: `0.32.${BOTH_PATCH}`, chart: `v0.32.${BOTH_PATCH}` };
const CONVERSION: Hop = { stage: 'conversion', version: '1.0.x', chart: '~1.0.0' };
const V1: Hop = { stage: 'v1', version: '1.14.1', chart: '1.14.1' };

/**
 * Returns the last patch of the beta version. This patch must be installed before 1.0. Undefined if it already runs.
 */
function betaBefore({ minor, patch }: Version): Hop | undefined {
  const last = LAST_PATCHES[minor];
  return last !== undefined && patch < last ? betaHop(minor) : undefined;
}

/**
 * Returns the versions to install, in order, to reach Karpenter 1.1 or later. Empty if the version already is 1.1 or
 * later.
 */
export function pathFrom(version: Version): readonly Hop[] {
  const stage = stageOf(version);
  if (stage === 'v1') return [];
  if (stage === 'conversion') return [V1];
  if (stage === 'beta') return [...[betaBefore(version)].filter((hop) => hop !== undefined), CONVERSION, V1];
  return [...(stage === 'alpha' ? [BOTH] : []), betaHop(LAST_BETA), CONVERSION, V1];
}
