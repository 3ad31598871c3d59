/* ours: counts and sums rows of a table of columns that pass a filter */
#include <stdio.h>
#include <stdlib.h>
int main(int c,char**v){long n=atol(v[1])*131072/2;int it=atoi(v[2]);long*a=malloc(8*n),*b=malloc(8*n),s=0,k=0;for(long i=0;i<n;i++)a[i]=i*2654435761%1009,b[i]=i;for(int t=0;t<it;t++)for(long i=0;i<n;i++)if(a[i]>t)s+=b[i],k++;printf("%ld %ld\n",s,k);return 0;}
