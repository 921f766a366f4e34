/** Which versions of Karpenter lead from one to the next. Two steps on this way can be skipped by nobody: 0.32 and 1.0. */

/** What the APIs of a version are: of alpha, of alpha and beta, of beta, of beta converted to v1, of v1 alone. */
export type ApiStage = 'alpha' | 'both' | 'beta' | 'conversion' | 'v1';

interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** `v0.32.1`, `1.0.8`, `1.14`; undefined for anything else, such as `latest`. */
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

/** Last patches of beta versions: they store v1beta1 and serve v1, and are the ones that 1.0 can be rolled back to. */
const LAST_PATCHES: Readonly<Record<number, number>> = { 33: 12, 34: 13, 35: 12, 36: 9, 37: 7 };
const LAST_BETA = 37;
/** Of 0.32: from this patch on a rollback does not replace nodes. */
const BOTH_PATCH = 9;

/** A version to go to. */
export interface Hop {
  readonly stage: ApiStage;
  /** As people call it. */
  readonly version: string;
  /** As `helm --version` takes it: tags have had no `v` since 0.35. */
  readonly chart: string;
}

const betaHop = (minor: number): Hop => {
  const version = `0.${minor}.${LAST_PATCHES[minor]}`;
  return { stage: 'beta', version, chart: minor < 35 ? `v${version}` : version };
};
const BOTH: Hop = { stage: 'both', version: `0.32.${BOTH_PATCH}`, chart: `v0.32.${BOTH_PATCH}` };
const CONVERSION: Hop = { stage: 'conversion', version: '1.0.x', chart: '~1.0.0' };
const V1: Hop = { stage: 'v1', version: '1.14.1', chart: '1.14.1' };

/** The last patch of a beta version that is to be reached before 1.0; undefined when it runs already. */
function betaBefore({ minor, patch }: Version): Hop | undefined {
  const last = LAST_PATCHES[minor];
  return last !== undefined && patch < last ? betaHop(minor) : undefined;
}

/** The versions between one and Karpenter 1.1 or later, in order; none when it is one already. */
export function pathFrom(version: Version): readonly Hop[] {
  const stage = stageOf(version);
  if (stage === 'v1') return [];
  if (stage === 'conversion') return [V1];
  if (stage === 'beta') return [...[betaBefore(version)].filter((hop) => hop !== undefined), CONVERSION, V1];
  return [...(stage === 'alpha' ? [BOTH] : []), betaHop(LAST_BETA), CONVERSION, V1];
}
