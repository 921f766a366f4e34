/** The controller's policies by name, as JSON. Written by `npm run generate` from examples/aws/cloudformation.yaml. */
export const POLICIES = `
{
  "KarpenterControllerNodeLifecyclePolicy": {
    "Version": "2012-10-17",
    "Statement": [
      {
        "Sid": "AllowScopedEC2InstanceAccessActions",
        "Effect": "Allow",
        "Resource": [
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}::image/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}::snapshot/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:security-group/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:subnet/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:capacity-reservation/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:placement-group/*"
        ],
        "Action": [
          "ec2:RunInstances",
          "ec2:CreateFleet"
        ]
      },
      {
        "Sid": "AllowScopedEC2LaunchTemplateAccessActions",
        "Effect": "Allow",
        "Resource": "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:launch-template/*",
        "Action": [
          "ec2:RunInstances",
          "ec2:CreateFleet"
        ],
        "Condition": {
          "StringEquals": {
            "aws:ResourceTag/kubernetes.io/cluster/\${ClusterName}": "owned"
          },
          "StringLike": {
            "aws:ResourceTag/karpenter.sh/nodepool": "*"
          }
        }
      },
      {
        "Sid": "AllowScopedEC2InstanceActionsWithTags",
        "Effect": "Allow",
        "Resource": [
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:fleet/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:instance/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:volume/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:network-interface/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:launch-template/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:spot-instances-request/*"
        ],
        "Action": [
          "ec2:RunInstances",
          "ec2:CreateFleet",
          "ec2:CreateLaunchTemplate"
        ],
        "Condition": {
          "StringEquals": {
            "aws:RequestTag/kubernetes.io/cluster/\${ClusterName}": "owned",
            "aws:RequestTag/eks:eks-cluster-name": "\${ClusterName}"
          },
          "StringLike": {
            "aws:RequestTag/karpenter.sh/nodepool": "*"
          }
        }
      },
      {
        "Sid": "AllowScopedResourceCreationTagging",
        "Effect": "Allow",
        "Resource": [
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:fleet/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:instance/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:volume/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:network-interface/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:launch-template/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:spot-instances-request/*"
        ],
        "Action": "ec2:CreateTags",
        "Condition": {
          "StringEquals": {
            "aws:RequestTag/kubernetes.io/cluster/\${ClusterName}": "owned",
            "aws:RequestTag/eks:eks-cluster-name": "\${ClusterName}",
            "ec2:CreateAction": [
              "RunInstances",
              "CreateFleet",
              "CreateLaunchTemplate"
            ]
          },
          "StringLike": {
            "aws:RequestTag/karpenter.sh/nodepool": "*"
          }
        }
      },
      {
        "Sid": "AllowScopedResourceTagging",
        "Effect": "Allow",
        "Resource": "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:instance/*",
        "Action": "ec2:CreateTags",
        "Condition": {
          "StringEquals": {
            "aws:ResourceTag/kubernetes.io/cluster/\${ClusterName}": "owned"
          },
          "StringLike": {
            "aws:ResourceTag/karpenter.sh/nodepool": "*"
          },
          "StringEqualsIfExists": {
            "aws:RequestTag/eks:eks-cluster-name": "\${ClusterName}"
          },
          "ForAllValues:StringEquals": {
            "aws:TagKeys": [
              "eks:eks-cluster-name",
              "karpenter.sh/nodeclaim",
              "Name"
            ]
          }
        }
      },
      {
        "Sid": "AllowScopedDeletion",
        "Effect": "Allow",
        "Resource": [
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:instance/*",
          "arn:\${AWS::Partition}:ec2:\${AWS::Region}:*:launch-template/*"
        ],
        "Action": [
          "ec2:TerminateInstances",
          "ec2:RebootInstances",
          "ec2:DeleteLaunchTemplate"
        ],
        "Condition": {
          "StringEquals": {
            "aws:ResourceTag/kubernetes.io/cluster/\${ClusterName}": "owned"
          },
          "StringLike": {
            "aws:ResourceTag/karpenter.sh/nodepool": "*"
          }
        }
      }
    ]
  },
  "KarpenterControllerIAMIntegrationPolicy": {
    "Version": "2012-10-17",
    "Statement": [
      {
        "Sid": "AllowPassingInstanceRole",
        "Effect": "Allow",
        "Resource": "\${KarpenterNodeRole.Arn}",
        "Action": "iam:PassRole",
        "Condition": {
          "StringEquals": {
            "iam:PassedToService": [
              "ec2.amazonaws.com",
              "ec2.amazonaws.com.cn"
            ]
          }
        }
      },
      {
        "Sid": "AllowScopedInstanceProfileCreationActions",
        "Effect": "Allow",
        "Resource": "arn:\${AWS::Partition}:iam::\${AWS::AccountId}:instance-profile/*",
        "Action": "iam:CreateInstanceProfile",
        "Condition": {
          "StringEquals": {
            "aws:RequestTag/kubernetes.io/cluster/\${ClusterName}": "owned",
            "aws:RequestTag/eks:eks-cluster-name": "\${ClusterName}",
            "aws:RequestTag/topology.kubernetes.io/region": "\${AWS::Region}"
          },
          "StringLike": {
            "aws:RequestTag/karpenter.k8s.aws/ec2nodeclass": "*"
          }
        }
      },
      {
        "Sid": "AllowScopedInstanceProfileTagActions",
        "Effect": "Allow",
        "Resource": "arn:\${AWS::Partition}:iam::\${AWS::AccountId}:instance-profile/*",
        "Action": "iam:TagInstanceProfile",
        "Condition": {
          "StringEquals": {
            "aws:ResourceTag/kubernetes.io/cluster/\${ClusterName}": "owned",
            "aws:ResourceTag/topology.kubernetes.io/region": "\${AWS::Region}",
            "aws:RequestTag/kubernetes.io/cluster/\${ClusterName}": "owned",
            "aws:RequestTag/eks:eks-cluster-name": "\${ClusterName}",
            "aws:RequestTag/topology.kubernetes.io/region": "\${AWS::Region}"
          },
          "StringLike": {
            "aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass": "*",
            "aws:RequestTag/karpenter.k8s.aws/ec2nodeclass": "*"
          }
        }
      },
      {
        "Sid": "AllowScopedInstanceProfileActions",
        "Effect": "Allow",
        "Resource": "arn:\${AWS::Partition}:iam::\${AWS::AccountId}:instance-profile/*",
        "Action": [
          "iam:AddRoleToInstanceProfile",
          "iam:RemoveRoleFromInstanceProfile",
          "iam:DeleteInstanceProfile"
        ],
        "Condition": {
          "StringEquals": {
            "aws:ResourceTag/kubernetes.io/cluster/\${ClusterName}": "owned",
            "aws:ResourceTag/topology.kubernetes.io/region": "\${AWS::Region}"
          },
          "StringLike": {
            "aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass": "*"
          }
        }
      }
    ]
  },
  "KarpenterControllerEKSIntegrationPolicy": {
    "Version": "2012-10-17",
    "Statement": [
      {
        "Sid": "AllowAPIServerEndpointDiscovery",
        "Effect": "Allow",
        "Resource": "arn:\${AWS::Partition}:eks:\${AWS::Region}:\${AWS::AccountId}:cluster/\${ClusterName}",
        "Action": "eks:DescribeCluster"
      }
    ]
  },
  "KarpenterControllerInterruptionPolicy": {
    "Version": "2012-10-17",
    "Statement": [
      {
        "Sid": "AllowInterruptionQueueActions",
        "Effect": "Allow",
        "Resource": "\${KarpenterInterruptionQueue.Arn}",
        "Action": [
          "sqs:DeleteMessage",
          "sqs:GetQueueUrl",
          "sqs:ReceiveMessage"
        ]
      }
    ]
  },
  "KarpenterControllerZonalShiftPolicy": {
    "Version": "2012-10-17",
    "Statement": [
      {
        "Sid": "AllowZonalShiftStatusReadOnly",
        "Effect": "Allow",
        "Resource": "*",
        "Action": "arc-zonal-shift:GetManagedResource",
        "Condition": {
          "StringEquals": {
            "arc-zonal-shift:ResourceIdentifier": "arn:\${AWS::Partition}:eks:\${AWS::Region}:\${AWS::AccountId}:cluster/\${ClusterName}"
          }
        }
      }
    ]
  },
  "KarpenterControllerResourceDiscoveryPolicy": {
    "Version": "2012-10-17",
    "Statement": [
      {
        "Sid": "AllowRegionalReadActions",
        "Effect": "Allow",
        "Resource": "*",
        "Action": [
          "ec2:DescribeCapacityReservations",
          "ec2:DescribeImages",
          "ec2:DescribeInstances",
          "ec2:DescribeInstanceStatus",
          "ec2:DescribeInstanceTypeOfferings",
          "ec2:DescribeInstanceTypes",
          "ec2:DescribeLaunchTemplates",
          "ec2:DescribePlacementGroups",
          "ec2:DescribeSecurityGroups",
          "ec2:DescribeSpotPriceHistory",
          "ec2:DescribeSubnets"
        ],
        "Condition": {
          "StringEquals": {
            "aws:RequestedRegion": "\${AWS::Region}"
          }
        }
      },
      {
        "Sid": "AllowSSMReadActions",
        "Effect": "Allow",
        "Resource": "arn:\${AWS::Partition}:ssm:\${AWS::Region}::parameter/aws/service/*",
        "Action": "ssm:GetParameter"
      },
      {
        "Sid": "AllowPricingReadActions",
        "Effect": "Allow",
        "Resource": "*",
        "Action": "pricing:GetProducts"
      },
      {
        "Sid": "AllowUnscopedInstanceProfileListAction",
        "Effect": "Allow",
        "Resource": "*",
        "Action": "iam:ListInstanceProfiles"
      },
      {
        "Sid": "AllowInstanceProfileReadActions",
        "Effect": "Allow",
        "Resource": "arn:\${AWS::Partition}:iam::\${AWS::AccountId}:instance-profile/*",
        "Action": "iam:GetInstanceProfile"
      }
    ]
  }
}
`;
