/** Compares the instance types of the local AWS with those of a server that has a copy of the real list. */
import { EC2Client, type InstanceTypeInfo, paginateDescribeInstanceTypes } from '@aws-sdk/client-ec2';
import { realClock } from '#lib/clock';
import { startAws } from '#local/testing';
import { CLUSTER, REGION } from './backend.ts';

/**
 * Returns the properties of a type that decide whether pods fit. Instance storage and clock speeds are not compared.
 */
const facts = (info: InstanceTypeInfo) => ({
  vcpus: info.VCpuInfo?.DefaultVCpus,
  memoryMiB: info.MemoryInfo?.SizeInMiB,
  architectures: info.ProcessorInfo?.SupportedArchitectures?.filter((each) => each !== 'i386'),
  interfaces: info.NetworkInfo?.MaximumNetworkInterfaces,
  ipv4PerInterface: info.NetworkInfo?.Ipv4AddressesPerInterface,
  gpus: info.GpuInfo?.Gpus?.map(({ Name, Manufacturer, Count }) => `${Count} ${Manufacturer} ${Name}`),
  gpuMemoryMiB: info.GpuInfo?.TotalGpuMemoryInMiB,
  neurons: info.NeuronInfo?.NeuronDevices?.map(({ Name, Count }) => `${Count} ${Name}`),
});

async function typesOf(client: EC2Client): Promise<Map<string, InstanceTypeInfo>> {
  const types = new Map<string, InstanceTypeInfo>();
  for await (const page of paginateDescribeInstanceTypes({ client }, {}))
    for (const info of page.InstanceTypes ?? []) types.set(info.InstanceType ?? '', info);
  return types;
}

export interface Comparison {
  /** Number of types in both catalogues. */
  readonly common: number;
  readonly differences: readonly string[];
}

export async function catalogueDifferences(url: string): Promise<Comparison> {
  const aws = await startAws({ clock: realClock(), clusterName: CLUSTER, region: REGION });
  const theirs = new EC2Client({ region: REGION, endpoint: url });
  try {
    const peers = await typesOf(theirs);
    const differences: string[] = [];
    let common = 0;
    for (const info of aws.catalogue.types) {
      const peer = peers.get(info.InstanceType ?? '');
      if (peer === undefined) continue;
      common++;
      const other: Readonly<Record<string, unknown>> = facts(peer);
      for (const [fact, ours] of Object.entries(facts(info)))
        if (JSON.stringify(ours) !== JSON.stringify(other[fact]))
          differences.push(
            `${info.InstanceType} ${fact}: ${JSON.stringify(ours)}, moto ${JSON.stringify(other[fact])}`,
          );
    }
    return { common, differences };
  } finally {
    theirs.destroy();
    await aws.close();
  }
}
