module vulnerable.test/app

go 1.26.0
