# The charts with helm_release, beside the modules `eks` and `karpenter` of terraform-aws-eks. The module creates the roles, the Pod
# Identity association of `kube-system/karpenter`, the queue and its rules. helm installs the custom resources first.
module "karpenter" {
  source  = "terraform-aws-modules/eks/aws//modules/karpenter"
  version = "~> 21.0"

  cluster_name    = module.eks.cluster_name
  namespace       = "kube-system"
  service_account = "karpenter"
}

resource "helm_release" "karpenter_crd" {
  name      = "karpenter-crd"
  namespace = "kube-system"
  chart     = "oci://registry.example.com/charts/karpenter-crd"
  version   = "0.1.0"
}

resource "helm_release" "karpenter" {
  depends_on = [helm_release.karpenter_crd]

  name      = "karpenter"
  namespace = "kube-system"
  chart     = "oci://registry.example.com/charts/karpenter"
  version   = "0.1.0"
  skip_crds = true
  wait      = true

  values = [yamlencode({
    settings = {
      clusterName       = module.eks.cluster_name
      clusterEndpoint   = module.eks.cluster_endpoint
      interruptionQueue = module.karpenter.queue_name
    }
    serviceAccount = {
      name = module.karpenter.service_account
    }
    controller = {
      image = {
        repository = "registry.example.com/karpenter-ts"
      }
    }
  })]
}

# spec.role of EC2NodeClasses
output "node_role_name" {
  value = module.karpenter.node_iam_role_name
}
