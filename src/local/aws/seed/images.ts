/** Public images that every account can use, and the SSM parameters for the current images. */
import type { AliasFamily } from '#api/objects';
import type { Seed } from '../options.ts';

type Architecture = 'x86_64' | 'arm64';

const EKS_OWNER = '602401143452';
const BOTTLEROCKET_OWNER = '092701018921';
const WINDOWS_OWNER = '801119661308';
const CANONICAL_OWNER = '099720109477';

/** Releases, newest first. The first release is `recommended` and `latest`. Dates have the form `20260801`. */
export interface Releases {
  readonly eks: readonly string[];
  readonly bottlerocket: readonly { readonly version: string; readonly date: string; readonly build: string }[];
  readonly windows: string;
  readonly ubuntu: string;
}

const FIRST_RELEASES: Releases = {
  eks: ['20260801', '20260701'],
  bottlerocket: [
    { version: '1.52.0', date: '20260805', build: '7a8ba6bb' },
    { version: '1.44.0', date: '20260610', build: 'f0bd1e2c' },
  ],
  windows: '20260812',
  ubuntu: '20260728',
};
/** Date of the newest first release. */
const NEWEST_FIRST_MS = Date.UTC(2026, 7, 12);
/** Minor version of the newest Bottlerocket release. */
const BOTTLEROCKET_MINOR = 52;
const DEFAULT_VERSION = '1.34';
const VERSIONS = ['1.29', '1.30', '1.31', '1.32', '1.33', '1.34', '1.35', '1.36'];
/** Last version with Amazon Linux 2 images, and first version with Windows Server 2025. */
const LAST_AL2 = '1.32';
const FIRST_WINDOWS_2025 = '1.35';

const AL2023_VARIANTS: readonly (readonly [Architecture, string])[] = [
  ['x86_64', 'standard'],
  ['x86_64', 'nvidia'],
  ['x86_64', 'neuron'],
  ['arm64', 'standard'],
  ['arm64', 'nvidia'],
];
type Publish = (seed: Seed, version: string, releases: Releases) => void;

const AL2_VARIANTS: readonly (readonly [Architecture, path: string, name: string])[] = [
  ['x86_64', 'amazon-linux-2', 'amazon-eks-node'],
  ['arm64', 'amazon-linux-2-arm64', 'amazon-eks-arm64-node'],
  ['x86_64', 'amazon-linux-2-gpu', 'amazon-eks-gpu-node'],
];

/** Adds the images of EKS, Bottlerocket, Windows and Ubuntu for the Kubernetes versions that EKS supports. */
export function seedPublicImages(seed: Seed, extraVersion?: string): void {
  const versions = extraVersion && !VERSIONS.includes(extraVersion) ? [...VERSIONS, extraVersion] : VERSIONS;
  for (const version of versions) publish(seed, version, FIRST_RELEASES);
  seedUbuntu(seed, FIRST_RELEASES);
}

/**
 * Adds the next release of each image family for one version.
 * @param round number of earlier calls
 */
export function publishNewImages(seed: Seed, atMs: number, round: number, version = DEFAULT_VERSION): void {
  // a new image must be newer than earlier images, regardless of the clock
  const dayMs = Math.max(atMs, NEWEST_FIRST_MS + (round + 1) * 86_400_000);
  const date = new Date(dayMs).toISOString().slice(0, 10).replaceAll('-', '');
  const releases: Releases = {
    eks: [date],
    bottlerocket: [{ version: `1.${BOTTLEROCKET_MINOR + 1 + round}.0`, date, build: `b${date.slice(1)}` }],
    windows: date,
    ubuntu: date,
  };
  publish(seed, version, releases);
  seedUbuntu(seed, releases);
}

const windows =
  (year: string, firstVersion = ''): Publish =>
  (seed, version, releases) => {
    if (version >= firstVersion) seedWindows(seed, version, releases, year);
  };

/** Adds the images of each family, in the order of their IDs. */
const PUBLISHERS: Readonly<Record<AliasFamily, Publish>> = {
  AL2023: publishAl2023,
  AL2: (seed, version, releases) => {
    if (version <= LAST_AL2) publishAl2(seed, version, releases);
  },
  Bottlerocket: publishBottlerocket,
  Windows2019: windows('2019'),
  Windows2022: windows('2022'),
  Windows2025: windows('2025', FIRST_WINDOWS_2025),
};

function publish(seed: Seed, version: string, releases: Releases): void {
  for (const add of Object.values(PUBLISHERS)) add(seed, version, releases);
}

const isoDate = (compact: string): string =>
  `${compact.slice(0, 4)}-${compact.slice(4, 6)}-${compact.slice(6, 8)}T12:00:00.000Z`;
const twoYearsAfter = (iso: string): string => `${Number(iso.slice(0, 4)) + 2}${iso.slice(4)}`;

function publicImage(
  seed: Seed,
  name: string,
  architecture: Architecture,
  owner: string,
  compactDate: string,
  rest: {
    readonly platform?: 'windows';
    readonly rootSizeGiB?: number;
    readonly rootDeviceName?: string;
    readonly ownerAlias?: string;
  } = {
    ownerAlias: 'amazon',
  },
): string {
  const creationDate = isoDate(compactDate);
  return seed.image({
    name,
    architecture,
    ownerId: owner,
    creationDate,
    deprecationTime: twoYearsAfter(creationDate),
    ...rest,
  });
}

/** Publishes releases of Amazon Linux 2023. If `isNewest` is false, they do not become the recommended release. */
export function publishAl2023(
  seed: Seed,
  version: string,
  { eks }: Releases,
  { isNewest = true }: { readonly isNewest?: boolean } = {},
): void {
  const base = `/aws/service/eks/optimized-ami/${version}/amazon-linux-2023`;
  for (const [architecture, variant] of AL2023_VARIANTS) {
    for (const [index, release] of eks.entries()) {
      const name = `amazon-eks-node-al2023-${architecture}-${variant}-${version}-v${release}`;
      const id = publicImage(seed, name, architecture, EKS_OWNER, release, { ownerAlias: 'amazon', rootSizeGiB: 20 });
      seed.parameter(`${base}/${architecture}/${variant}/${name}/image_id`, id);
      if (index > 0 || !isNewest) continue;
      seed.parameter(`${base}/${architecture}/${variant}/recommended/image_id`, id);
      seed.parameter(`${base}/${architecture}/${variant}/recommended/image_name`, name);
    }
  }
}

export function publishAl2(
  seed: Seed,
  version: string,
  { eks }: Releases,
  { isNewest = true }: { readonly isNewest?: boolean } = {},
): void {
  for (const [architecture, path, prefix] of AL2_VARIANTS) {
    const base = `/aws/service/eks/optimized-ami/${version}/${path}`;
    for (const [index, release] of eks.entries()) {
      const name = `${prefix}-${version}-v${release}`;
      const id = publicImage(seed, name, architecture, EKS_OWNER, release, { ownerAlias: 'amazon', rootSizeGiB: 20 });
      seed.parameter(`${base}/${name}/image_id`, id);
      if (index === 0 && isNewest) seed.parameter(`${base}/recommended/image_id`, id);
    }
  }
}

export function publishBottlerocket(
  seed: Seed,
  version: string,
  { bottlerocket }: Releases,
  { isNewest = true }: { readonly isNewest?: boolean } = {},
): void {
  for (const variant of [`aws-k8s-${version}`, `aws-k8s-${version}-nvidia`]) {
    for (const architecture of ['x86_64', 'arm64'] as const) {
      for (const [index, release] of bottlerocket.entries()) {
        const name = `bottlerocket-${variant}-${architecture}-v${release.version}-${release.build}`;
        const rest = { ownerAlias: 'amazon', rootSizeGiB: 2 };
        const id = publicImage(seed, name, architecture, BOTTLEROCKET_OWNER, release.date, rest);
        const base = `/aws/service/bottlerocket/${variant}/${architecture}`;
        seed.parameter(`${base}/${release.version}/image_id`, id);
        if (index > 0 || !isNewest) continue;
        seed.parameter(`${base}/latest/image_id`, id);
        seed.parameter(`${base}/latest/image_version`, `${release.version}-${release.build}`);
      }
    }
  }
}

function seedWindows(seed: Seed, version: string, { windows: date }: Releases, year: string): void {
  const release = `${date.slice(0, 4)}.${date.slice(4, 6)}.${date.slice(6)}`;
  const title = `Windows_Server-${year}-English-Core-EKS_Optimized-${version}`;
  const rest = { platform: 'windows', ownerAlias: 'amazon' } as const;
  const id = publicImage(seed, `${title}-${release}`, 'x86_64', WINDOWS_OWNER, date, rest);
  seed.parameter(`/aws/service/ami-windows-latest/${title}/image_id`, id);
}

function seedUbuntu(seed: Seed, { ubuntu: date }: Releases): void {
  for (const [architecture, short] of [
    ['x86_64', 'amd64'],
    ['arm64', 'arm64'],
  ] as const) {
    const name = `ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-${short}-server-${date}`;
    const id = publicImage(seed, name, architecture, CANONICAL_OWNER, date, { rootDeviceName: '/dev/sda1' });
    seed.parameter(`/aws/service/canonical/ubuntu/server/24.04/stable/current/${short}/hvm/ebs-gp3/ami-id`, id);
  }
}
