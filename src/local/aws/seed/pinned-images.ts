/** Older releases of the public images, which are created when a parameter of a pinned alias is read. */
import type { Account } from '../state/account.ts';
import { publishAl2, publishAl2023, publishBottlerocket, type Releases } from './images.ts';
import { seeder } from './seed.ts';

const EKS = /^\/aws\/service\/eks\/optimized-ami\/(\d\.\d\d)\/(amazon-linux-2(?:023|-arm64|-gpu)?)\//;
const EKS_RELEASE = /-v(\d{8})\/image_id$/;
const BOTTLEROCKET =
  /^\/aws\/service\/bottlerocket\/aws-k8s-(\d\.\d\d)(?:-nvidia)?\/(?:x86_64|arm64)\/(\d{1,2}\.\d{1,3}\.\d{1,2})\/image_id$/;

/** Date of the first release of the images for EKS. */
const FIRST_EKS = '20190101';
const MONTH_MS = 30 * 86_400_000;

/**
 * Publishes the release of a pinned alias for its Kubernetes version, if the release is well formed and not newer than the
 * newest release. AWS keeps old releases, but an account with all of them would be slow to create.
 */
export function publishPinned(account: Account, parameter: string): void {
  const [, eksVersion = '', os = ''] = EKS.exec(parameter) ?? [];
  const [, date = ''] = EKS_RELEASE.exec(parameter) ?? [];
  if (os !== '' && date !== '') publishEks(account, eksVersion, os, date);
  const [, version = '', release = ''] = BOTTLEROCKET.exec(parameter) ?? [];
  if (release !== '') publishBottlerocketRelease(account, version, release);
}

function publishEks(account: Account, version: string, os: string, date: string): void {
  const isOld = os !== 'amazon-linux-2023';
  const base = `/aws/service/eks/optimized-ami/${version}/${isOld ? 'amazon-linux-2' : 'amazon-linux-2023/x86_64/standard'}`;
  const newest = newestOf(account, `${base}/recommended/image_id`, /-v(\d{8})$/);
  if (newest === undefined || date < FIRST_EKS || date > newest || !isDate(date)) return;
  const releases: Releases = { eks: [date], bottlerocket: [], windows: '', ubuntu: '' };
  (isOld ? publishAl2 : publishAl2023)(seeder(account), version, releases, { isNewest: false });
}

function publishBottlerocketRelease(account: Account, version: string, release: string): void {
  const base = `/aws/service/bottlerocket/aws-k8s-${version}/x86_64`;
  const newest = newestOf(account, `${base}/latest/image_id`, /-v(\d+\.\d+\.\d+)-/);
  if (newest === undefined || compareReleases(release, newest) > 0) return;
  const releasesAgo = (Number(newest.split('.')[1]) || 0) - (Number(release.split('.')[1]) || 0);
  const createdMs = imageDateMs(account, `${base}/latest/image_id`) - Math.max(1, releasesAgo) * MONTH_MS;
  const date = new Date(createdMs).toISOString().slice(0, 10).replaceAll('-', '');
  const bottlerocket = [{ version: release, date, build: `b${date.slice(1)}` }];
  publishBottlerocket(
    seeder(account),
    version,
    { eks: [], bottlerocket, windows: '', ubuntu: '' },
    { isNewest: false },
  );
}

/** Returns the release in the name of the image of a parameter, or undefined if EKS does not have the version. */
function newestOf({ parameters, images }: Account, parameter: string, release: RegExp): string | undefined {
  const image = images.get(parameters.get(parameter)?.value ?? '');
  return image && release.exec(image.name)?.[1];
}

const imageDateMs = ({ parameters, images }: Account, parameter: string): number =>
  Date.parse(images.get(parameters.get(parameter)?.value ?? '')?.creationDate ?? '');

const isDate = (compact: string): boolean => {
  const iso = `${compact.slice(0, 4)}-${compact.slice(4, 6)}-${compact.slice(6)}`;
  const parsed = Date.parse(`${iso}T00:00:00Z`);
  return !Number.isNaN(parsed) && new Date(parsed).toISOString().startsWith(iso);
};

function compareReleases(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)];
  for (const [at, part] of left.entries()) if (part !== right[at]) return part - (right[at] ?? 0);
  return 0;
}
