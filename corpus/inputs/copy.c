/* ours: copies an array to another and back */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int c,char**v){long n=atol(v[1])*1048576/2;int it=atoi(v[2]);char*a=malloc(n),*b=malloc(n);for(long i=0;i<n/8;i++)((long*)a)[i]=((long*)b)[i]=i;for(int t=0;t<it;t++){for(long i=0;i<n/8;i++)((long*)b)[i]=((long*)a)[i]+t;char*s=a;a=b;b=s;}printf("%d\n",a[n/2]);return 0;}
