/* ours: Jacobi's method on a cube, seven points */
#include <stdio.h>
#include <stdlib.h>
int main(int c,char**v){long n=atol(v[1]),m=n*n,N=m*n;int it=atoi(v[2]);float*a=malloc(4*N),*b=malloc(4*N);for(long i=0;i<N;i++)a[i]=b[i]=i%97;for(int t=0;t<it;t++){for(long z=1;z<n-1;z++)for(long y=1;y<n-1;y++){float*p=a+z*m+y*n,*q=b+z*m+y*n;for(long x=1;x<n-1;x++)q[x]=.4f*p[x]+.1f*(p[x-1]+p[x+1]+p[x-n]+p[x+n]+p[x-m]+p[x+m]);}float*s=a;a=b;b=s;}printf("%f\n",a[N/2]);return 0;}
