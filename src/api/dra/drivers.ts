/** Names of the DRA drivers for the devices of EC2 instances. */
export const NVIDIA_DRIVER = 'gpu.nvidia.com';
/** Publishes EFA interfaces. */
export const EFA_DRIVER = 'dra.net';
export const NEURON_DRIVER = 'neuron.aws.com';
