/** Sizes of instance types in the built-in catalogue. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { FAMILIES } from '../../../local/aws/catalogue/families.ts';
import { instanceTypeInfo } from '../../../local/aws/catalogue/info.ts';
import { apiName } from '../../../local/aws/catalogue/sizes.ts';

interface InstanceSize {
  readonly cpus: number;
  readonly memoryMi: number;
  readonly arch: 'amd64' | 'arm64';
}

let known: ReadonlyMap<string, InstanceSize> | undefined;

const sizeOf = (info: InstanceTypeInfo): InstanceSize => ({
  cpus: info.VCpuInfo?.DefaultVCpus ?? 0,
  memoryMi: info.MemoryInfo?.SizeInMiB ?? 0,
  arch: info.ProcessorInfo?.SupportedArchitectures?.includes('arm64') ? 'arm64' : 'amd64',
});

/** Returns undefined if the catalogue does not contain the type. */
export function instanceSize(type: string): InstanceSize | undefined {
  known ??= new Map(
    FAMILIES.flatMap((family) =>
      family.sizes.map((size) => [apiName(family, size), sizeOf(instanceTypeInfo(family, size))] as const),
    ),
  );
  return known.get(type);
}
